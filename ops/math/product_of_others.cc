#include "core/device/cpu/launch.h"
#include "ops/math/binary_functors.h"
#include "ops/math/reduce_ops.h"
#include "ops/math/reduction_dims.h"

namespace towerflow {
namespace {

/// The products before an element, then times those behind it.
template <class T>
void products(const ReductionDims& dims, const T* x, T* out) {
  const functors::Mul<T> times;
  const std::int64_t count = dims.count(true);
  for (std::int64_t i = 0; i < dims.count(false); ++i) {
    const std::int64_t base = dims.offset(i, false, dims.rank);
    T product(1);
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t at = base + dims.offset(k, true, dims.rank);
      out[at] = product;
      product = times(product, x[at]);
    }
    product = T(1);
    for (std::int64_t k = count; k-- > 0;) {
      const std::int64_t at = base + dims.offset(k, true, dims.rank);
      out[at] = times(out[at], product);
      product = times(product, x[at]);
    }
  }
}

std::unique_ptr<PreparedKernel> kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape shape = request.inputs[0].shape;
  const DType dtype = request.inputs[0].dtype;
  const DType axis_dtype = request.inputs[1].dtype;
  const std::int64_t axes = request.inputs[1].shape.elements();
  return function_kernel([=](const LaunchArgs& args) {
    if (shape.elements() == 0) return;
    bool flags[kMaxKernelRank] = {};
    for (std::int64_t i = 0; i < axes; ++i) {
      flags[checked_axis(integer_at(axis_dtype, args.inputs[1], i), shape.rank())] = true;
    }
    const ReductionDims dims(shape, flags);
    dispatch_dtype(dtype, [&]<class T>() {
      if constexpr (!std::is_same_v<T, bool>) products(dims, args.input<T>(0), args.output<T>(0));
    });
  });
}

}  // namespace

void register_product_of_others(OpRegistry& registry) {
  registry.add({.name = "ProductOfOthers",
                .shape = [](InferenceContext& c) { c.add_output(c.dtype(0), c.shape(0)); },
                .gradient = NoGradient{"a product over axes has a first derivative only"}});
}

void register_product_of_others_kernels(KernelTable& table) {
  table.add({.op = "ProductOfOthers", .label = "loop", .accepts = {}, .prepare = kernel});
}

}  // namespace towerflow
