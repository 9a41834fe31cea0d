#include "ops/family.h"
#include "ops/nn/average_rows.h"
#include "ops/nn/kernels.h"
#include "ops/nn/pool_attrs.h"
#include "ops/reference/pool.h"
#include "ops/simd/kernels.h"

namespace towerflow::nn {
namespace {

PoolGeometry pool_geometry_of(const KernelRequest& request) {
  return pool_geometry(request.attributes<PoolAttrs>(), request.inputs[0].shape);
}
PoolGeometry max_pool_geometry_of(const KernelRequest& request) {
  const auto& attrs = request.attributes<MaxPoolAttrs>();
  return pool_geometry(attrs.pool, request.inputs[0].shape, attrs.explicit_paddings);
}

// Returns the geometry of only the images in `range`, for the reference loops.
PoolGeometry part_of(PoolGeometry geometry, SliceRange range) {
  geometry.batch = range.size();
  return geometry;
}

std::unique_ptr<PreparedKernel> simd_max_pool(const KernelRequest& request) {
  return sliced_kernel(simd::make_max_pool(max_pool_geometry_of(request)));
}

std::unique_ptr<PreparedKernel> simd_max_pool_grad(const KernelRequest& request) {
  return sliced_kernel(
      std::make_unique<PickedInputs>(simd::make_max_pool_grad(max_pool_geometry_of(request)),
                                     std::initializer_list<std::size_t>{0, 2}));
}

std::unique_ptr<PreparedKernel> pool_relu_grad_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<MaxPoolReluGradAttrs>();
  return sliced_kernel(
      simd::make_max_pool_grad(pool_geometry(attrs.pool, request.inputs[0].shape),
                               {.after_relu = true, .channel_sums = attrs.channel_sums}));
}

std::unique_ptr<PreparedKernel> reference_max_pool(const KernelRequest& request) {
  const PoolGeometry g = max_pool_geometry_of(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return rows_kernel(g.batch, g.image_elements(),
                       [g](SliceRange images, const void* const* inputs, void* const* outputs) {
                         reference::max_pool(
                             part_of(g, images),
                             in<T>(inputs, 0) + images.begin * g.image_elements(),
                             out<T>(outputs, 0) + images.begin * g.result_elements());
                       });
  });
}

std::unique_ptr<PreparedKernel> reference_max_pool_grad(const KernelRequest& request) {
  const PoolGeometry g = max_pool_geometry_of(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return rows_kernel(g.batch, g.image_elements(),
                       [g](SliceRange images, const void* const* inputs, void* const* outputs) {
                         reference::max_pool_grad(
                             part_of(g, images),
                             in<T>(inputs, 0) + images.begin * g.image_elements(),
                             in<T>(inputs, 2) + images.begin * g.result_elements(),
                             out<T>(outputs, 0) + images.begin * g.image_elements());
                       });
  });
}

std::unique_ptr<PreparedKernel> reference_max_pool_grad_grad(const KernelRequest& request) {
  const PoolGeometry g = pool_geometry_of(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return rows_kernel(g.batch, g.image_elements(),
                       [g](SliceRange images, const void* const* inputs, void* const* outputs) {
                         reference::max_pool_grad_grad(
                             part_of(g, images),
                             in<T>(inputs, 0) + images.begin * g.image_elements(),
                             in<T>(inputs, 2) + images.begin * g.image_elements(),
                             out<T>(outputs, 0) + images.begin * g.result_elements());
                       });
  });
}

/// Returns a kernel whose slices run `pool(geometry, x, y)` over their images.
template <template <class> class Pool>
std::unique_ptr<PreparedKernel> average_kernel(const KernelRequest& request) {
  const PoolGeometry g = pool_geometry_of(request);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return rows_kernel(g.batch, g.image_elements(),
                       [g](SliceRange images, const void* const* inputs, void* const* outputs) {
                         Pool<T>()(part_of(g, images),
                                   in<T>(inputs, 0) + images.begin * g.image_elements(),
                                   out<T>(outputs, 0) + images.begin * g.result_elements());
                       });
  });
}

template <template <class> class Gradient>
std::unique_ptr<PreparedKernel> average_grad_kernel(const KernelRequest& request) {
  const PoolGeometry g = pool_geometry(request.attributes<PoolAttrs>(), request.outputs[0].shape);
  return for_real_type(request.outputs[0].dtype, [&]<class T>() {
    return rows_kernel(g.batch, g.image_elements(),
                       [g](SliceRange images, const void* const* inputs, void* const* outputs) {
                         Gradient<T>()(part_of(g, images),
                                       in<T>(inputs, 1) + images.begin * g.result_elements(),
                                       out<T>(outputs, 0) + images.begin * g.image_elements());
                       });
  });
}

template <class T>
struct ReferenceAverage {
  void operator()(const PoolGeometry& g, const T* x, T* y) const { reference::avg_pool(g, x, y); }
};
template <class T>
struct ReferenceAverageGrad {
  void operator()(const PoolGeometry& g, const T* dy, T* dx) const {
    reference::avg_pool_grad(g, dy, dx);
  }
};

void add_pooling(KernelTable& table, const char* op, const char* label, std::size_t typed,
                 std::initializer_list<DType> dtypes,
                 std::unique_ptr<PreparedKernel> (*prepare)(const KernelRequest&)) {
  table.add({.op = op,
             .label = label,
             .accepts =
                 [typed, allowed = std::vector<DType>(dtypes)](const KernelRequest& request) {
                   return std::find(allowed.begin(), allowed.end(), request.inputs[typed].dtype) !=
                          allowed.end();
                 },
             .prepare = prepare});
}

}  // namespace

static void register_pool_kernels(KernelTable& table) {
  add_pooling(table, "MaxPool", "simd", 0, {DType::float32}, simd_max_pool);
  add_pooling(table, "MaxPool", "reference", 0, kRealNumbers, reference_max_pool);
  add_pooling(table, "MaxPoolGrad", "simd", 0, {DType::float32}, simd_max_pool_grad);
  add_pooling(table, "MaxPoolGrad", "reference", 0, kRealNumbers, reference_max_pool_grad);
  table.add(
      {.op = "_MaxPoolReluGrad", .label = "simd", .accepts = {}, .prepare = pool_relu_grad_kernel});
  add_pooling(table, "MaxPoolGradGrad", "reference", 0, kRealNumbers, reference_max_pool_grad_grad);
  add_pooling(table, "AvgPool", "rows", 0, kFloats, average_kernel<AverageRows>);
  add_pooling(table, "AvgPool", "reference", 0, kFloats, average_kernel<ReferenceAverage>);
  add_pooling(table, "AvgPoolGrad", "rows", 1, kFloats, average_grad_kernel<AverageRowsGrad>);
  add_pooling(table, "AvgPoolGrad", "reference", 1, kFloats,
              average_grad_kernel<ReferenceAverageGrad>);
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily pool_cpu_family() { return {.kernels = nn::register_pool_kernels}; }
}  // namespace towerflow
