#include "ops/math/sum_to_shape.h"

#include <fmt/format.h>

#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "core/graph/short_float.h"
#include "ops/array/broadcast_to.h"
#include "ops/array/cast_value.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/export_forms.h"
#include "ops/family.h"
#include "ops/math/reduce.h"
#include "ops/math/reduction.h"

namespace towerflow {
namespace {

/// Shape rule of op SumToShape: value, shape (a vector) -> value summed to that shape. Computes the
/// gradient of a broadcast whose sizes are not known before the run.
void sum_to_shape_shape(InferenceContext& context) {
  if (!is_floating(context.dtype(0)) && !is_integer(context.dtype(0))) {
    context.fail_type(fmt::format("values of {} cannot be summed", dtype_name(context.dtype(0))));
  }
  const Shape& vector = context.shape(1);
  const bool known = vector.has_rank() && vector.rank() == 1 && vector[0].known();
  if (const Array* sizes = context.constant(1)) {
    return context.add_output(context.dtype(0),
                              Shape(std::span<const std::int64_t>(integers_of(*sizes))));
  }
  context.add_output(
      context.dtype(0),
      known ? Shape::of_rank(static_cast<std::size_t>(vector.size(0))) : Shape::unknown());
}

std::vector<OptionalGradient> sum_to_shape_gradient(const Operation& op,
                                                    const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor sizes = towerflow::shape(op.input(0), {}, op.site());
  return {broadcast_to(dy, sizes, {}, op.site()), std::nullopt};
}

std::unique_ptr<PreparedKernel> sum_to_shape_kernel(const KernelRequest& request) {
  const Shape& in = request.inputs[0].shape;
  const Shape& out = request.outputs[0].shape;
  if (broadcast_shapes(in, out) != in) {
    throw errors::InvalidArgumentError(
        fmt::format("a gradient of shape {} cannot be summed to {}", in.text(), out.text()));
  }
  return fixed_reduction_kernel(Reduction::sum, request, repeated_axes(in, out));
}

}  // namespace

std::vector<bool> repeated_axes(const Shape& whole, const Shape& part) {
  std::vector<bool> repeated(whole.rank(), true);
  const std::size_t extra = whole.rank() - part.rank();
  for (std::size_t i = extra; i < whole.rank(); ++i) {
    repeated[i] = part.size(i - extra) == 1 && whole.size(i) != 1;
  }
  return repeated;
}

static void register_sum_to_shape_ops(OpRegistry& registry) {
  registry.add({.name = "SumToShape",
                .inputs = {"dy: T", "shape: Index(Tshape)"},
                .outputs = {"output: T"},
                .shape = sum_to_shape_shape,
                .gradient = sum_to_shape_gradient,
                .export_form = export_forms::sum_to_shape});
}

static void register_sum_to_shape_kernels(KernelTable& table) {
  table.add({.op = "SumToShape", .label = "sum", .accepts = {}, .prepare = sum_to_shape_kernel});
}

OpFamily sum_to_shape_family() {
  return {.ops = register_sum_to_shape_ops, .kernels = register_sum_to_shape_kernels};
}

Tensor sum_to_shape_of(const Tensor& gradient, const Tensor& x, Site site) {
  const Shape& from = gradient.shape();
  const Shape& to = x.shape();
  if (!from.fully_known() || !to.fully_known()) {
    const Tensor sizes = towerflow::shape(x, {}, site);
    const Tensor sum = x.graph()
                           .add({.op = "SumToShape",
                                 .name = "SumToShape",
                                 .inputs = {gradient, sizes},
                                 .site = site})
                           .output(0);
    Tensor(sum).set_shape(to, site);
    return sum;
  }
  if (from == to) return gradient;
  const std::vector<bool> repeated = repeated_axes(from, to);
  std::vector<int> axes;
  for (std::size_t i = 0; i < repeated.size(); ++i) {
    if (repeated[i]) axes.push_back(static_cast<int>(i));
  }
  Tensor sum = axes.empty() ? gradient : reduce_sum(gradient, axes, {}, site);
  if (sum.shape() == to) return sum;
  return reshape(sum, towerflow::shape(x, {}, site), {}, site);
}

Tensor scalar_like(const Tensor& like, double value, Site site) {
  if (is_short_float(like.dtype())) {
    const Array number = narrowed(Array::scalar(static_cast<float>(value)), like.dtype());
    return make_constant(like.graph(), number, "Const", site);
  }
  Array array(like.dtype(), Shape{});
  if (!dispatch_dtype(like.dtype(),
                      [&]<class T>() { array.data<T>()[0] = cast_value<double, T>(value); })) {
    throw TypeError(fmt::format("no constant of {}", dtype_name(like.dtype())), {.site = site});
  }
  return make_constant(like.graph(), std::move(array), "Const", site);
}

}  // namespace towerflow
