#include "ops/nn/max_pool_with_argmax.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/nn/average_rows.h"
#include "ops/nn/kernels.h"
#include "ops/nn/pool_attrs.h"

namespace towerflow::nn {
namespace {

Shape pool_argmax_shape(const InferenceContext& context, const ArgmaxGradAttrs& attrs) {
  require_rank(context, 0, 4);
  if (attrs.ksize[0] != 1 || attrs.ksize[3] != 1 || attrs.strides[0] != 1 ||
      attrs.strides[3] != 1) {
    fail_with_shapes(context,
                     "Pooling over the batch or the channels: the window and the stride there "
                     "must be 1");
  }
  if (attrs.padding == Padding::explicit_numbers) {
    fail_with_shapes(context, "The padding must be SAME or VALID");
  }
  const Shape& images = context.shape(0);
  std::vector<Dim> dims = images.has_rank() ? images.dims() : std::vector<Dim>(4, None);
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    dims[axis] =
        window_output(context, dims[axis], attrs.ksize[axis], attrs.strides[axis], attrs.padding);
  }
  return Shape(std::move(dims));
}

void max_pool_with_argmax_shape(InferenceContext& context) {
  const auto& attrs = context.attrs<ArgmaxAttrs>();
  require_dtype(context, 0, "input", kRealNumbers);
  if (attrs.index != DType::int32 && attrs.index != DType::int64) {
    context.fail_type(
        fmt::format("Targmax must be int32 or int64, not {}", dtype_name(attrs.index)));
  }
  const Shape pooled = pool_argmax_shape(context, attrs.pool);
  context.add_output(context.dtype(0), pooled);
  context.add_output(attrs.index, pooled);
}

/// Inputs: image, gradient of the result, indices.
void max_pool_grad_with_argmax_shape(InferenceContext& context) {
  require_dtype(context, 0, "input", kRealNumbers);
  require_dtype(context, 2, "argmax", {DType::int32, DType::int64});
  const Shape pooled = pool_argmax_shape(context, context.attrs<ArgmaxGradAttrs>());
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (pooled.compatible(context.shape(input))) continue;
    fail_with_shapes(context, fmt::format("Input {} must have the shape {}", input, pooled.text()));
  }
  context.add_output(context.dtype(0), context.shape(0));
}

std::vector<OptionalGradient> max_pool_with_argmax_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  if (!dys[0]) return {zeros_like(op.input(0), {}, op.site())};
  const Tensor dy = dense_gradient(dys[0], op.site());
  return {op.graph()
              .add({.op = "MaxPoolGradWithArgmax",
                    .name = "MaxPoolGradWithArgmax",
                    .inputs = {op.input(0), dy, op.output(1)},
                    .attrs = op.attrs().as<ArgmaxAttrs>().pool,
                    .site = op.site()})
              .output(0)};
}

/// Loops over the channels of a pixel. The first of equal elements wins; a NaN that comes first
/// keeps its place.
template <class T, class Index>
std::unique_ptr<PreparedKernel> pool_argmax_kernel(const PoolGeometry& g, bool with_batch) {
  return rows_kernel(
      g.batch, g.image_elements(),
      [g, with_batch](SliceRange images, const void* const* inputs, void* const* outputs) {
        PoolGeometry part = g;
        part.batch = images.size();
        const std::int64_t size = g.image_elements(), first = images.begin * size;
        const T* x = in<T>(inputs, 0) + first;
        T* y = out<T>(outputs, 0) + images.begin * g.result_elements();
        Index* places = out<Index>(outputs, 1) + images.begin * g.result_elements();
        bool fresh = true;
        for_each_window(
            part, [&](std::int64_t) { fresh = true; },
            [&](std::int64_t result, std::int64_t pixel, std::int64_t) {
              const std::int64_t named = with_batch ? first + pixel : pixel % size;
              const T* from = x + pixel;
              T* to = y + result;
              Index* place = places + result;
              for (std::int64_t c = 0; c < g.channels; ++c) {
                const bool larger = fresh || to[c] < from[c];
                to[c] = larger ? from[c] : to[c];
                place[c] = larger ? static_cast<Index>(named + c) : place[c];
              }
              fresh = false;
            },
            [](std::int64_t, std::int64_t) {});
      });
}

std::unique_ptr<PreparedKernel> max_pool_with_argmax_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<ArgmaxAttrs>();
  const PoolGeometry g = pool_geometry(attrs.pool.pool(), request.inputs[0].shape);
  const bool with_batch = attrs.pool.include_batch_in_index;
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    if (attrs.index == DType::int32) return pool_argmax_kernel<T, std::int32_t>(g, with_batch);
    return pool_argmax_kernel<T, std::int64_t>(g, with_batch);
  });
}

/// Adds dy to the elements that the indices name, one image after another.
template <class T>
class ArgmaxGradKernel final : public CpuKernel {
 public:
  ArgmaxGradKernel(const PoolGeometry& geometry, DType index, bool with_batch)
      : geometry_(geometry), index_(index), with_batch_(with_batch) {}
  int slices(int) const override { return row_slices(geometry_.batch, geometry_.image_elements()); }
  void run(int, int slice, const void* const* inputs, void* const* outputs,
           std::byte*) const override {
    const std::int64_t size = geometry_.image_elements(), results = geometry_.result_elements();
    const SliceRange images = slice_range(geometry_.batch, slices(0), slice);
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      T* dx = out<T>(outputs, 0) + image * size;
      std::fill_n(dx, size, T(0));
      for (std::int64_t i = image * results; i < (image + 1) * results; ++i) {
        const std::int64_t given = integer_at(index_, inputs[2], i);
        const std::int64_t at = with_batch_ ? given - image * size : given;
        if (given < 0 || at < 0 || at >= size) {
          throw errors::InvalidArgumentError(fmt::format(
              "The index {} of a maximum is not in image {} of {} elements", given, image, size));
        }
        dx[at] = static_cast<T>(dx[at] + in<T>(inputs, 1)[i]);
      }
    }
  }

 private:
  PoolGeometry geometry_;
  DType index_;
  bool with_batch_;
};

std::unique_ptr<PreparedKernel> max_pool_grad_with_argmax_kernel(const KernelRequest& request) {
  const auto& attrs = request.attributes<ArgmaxGradAttrs>();
  const PoolGeometry g = pool_geometry(attrs.pool(), request.inputs[0].shape);
  return for_real_type(request.inputs[0].dtype, [&]<class T>() {
    return sliced_kernel(std::make_unique<ArgmaxGradKernel<T>>(g, request.inputs[2].dtype,
                                                               attrs.include_batch_in_index));
  });
}

}  // namespace

static void register_max_pool_with_argmax_ops(OpRegistry& registry) {
  registry.add({.name = "MaxPoolWithArgmax",
                .inputs = {"input: T"},
                .outputs = {"output: T", "argmax: Targmax"},
                .attrs = attributes<ArgmaxAttrs>(),
                .shape = max_pool_with_argmax_shape,
                .gradient = max_pool_with_argmax_gradient});
  registry.add({.name = "MaxPoolGradWithArgmax",
                .inputs = {"input: T", "grad: T", "argmax: Targmax"},
                .outputs = {"output: T"},
                .attrs = attributes<ArgmaxGradAttrs>(),
                .shape = max_pool_grad_with_argmax_shape,
                .gradient = NoGradient{"TensorFlow has no second derivative of it", false}});
}

static void register_max_pool_with_argmax_kernels(KernelTable& table) {
  add_kernel(table, "MaxPoolWithArgmax", "rows", 0, kRealNumbers, max_pool_with_argmax_kernel);
  add_kernel(table, "MaxPoolGradWithArgmax", "rows", 0, kRealNumbers,
             max_pool_grad_with_argmax_kernel);
}

MaxPoolWithArgmax max_pool_with_argmax(const Operand& input, const Extents& ksize,
                                       const Extents& strides, std::string_view padding,
                                       MaxPoolWithArgmaxOptions options, Site site) {
  const char* op = "MaxPoolWithArgmax";
  if (options.data_format != "NHWC") {
    throw ValueError(fmt::format("`data_format` values other than 'NHWC' are not supported. "
                                 "Received: data_format={}",
                                 options.data_format),
                     {.site = site, .op = op});
  }
  OpBuilder builder(op, options.name, site, {&input});
  ArgmaxAttrs attrs;
  attrs.pool.ksize = expand_extents("ksize", ksize, DataFormat::nhwc, site);
  attrs.pool.strides = expand_extents("strides", strides, DataFormat::nhwc, site);
  attrs.pool.include_batch_in_index = options.include_batch_in_index;
  attrs.index = options.output_dtype.value_or(options.Targmax);
  builder.input(input, "input");
  attrs.pool.padding = parse_padding(op, padding, site);
  const Operation made = builder.attrs(attrs).build();
  return {made.output(0), made.output(1)};
}

}  // namespace towerflow::nn

namespace towerflow {
OpFamily max_pool_with_argmax_family() {
  return {.ops = nn::register_max_pool_with_argmax_ops,
          .kernels = nn::register_max_pool_with_argmax_kernels};
}
}  // namespace towerflow
