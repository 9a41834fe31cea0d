// Gradients of the reductions.
#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/constant.h"
#include "core/graph/op_builder.h"
#include "ops/array/broadcast_to.h"
#include "ops/array/cast.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/array/rank_size.h"
#include "ops/array/shape_of.h"
#include "ops/array/view.h"
#include "ops/export_forms.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/reduce_ops.h"
#include "ops/math/sum_to_shape.h"

namespace towerflow {
namespace {

/// Returns the shape of the result with the reduced dimensions kept.
Tensor kept_shape(const Operation& op) {
  const Tensor x = op.input(0);
  const Array axes = constant_value(op.input(1));
  const Shape& shape = x.shape();
  if (!axes.empty() && shape.fully_known()) {
    std::vector<std::int64_t> sizes = shape.sizes();
    const std::vector<bool> flags = axis_flags(integers_of(axes), shape.rank());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (flags[i]) sizes[i] = 1;
    }
    return index_constant(op.graph(), sizes, "shape", op.site());
  }
  const Tensor sizes = towerflow::shape(x, {}, op.site());
  return op.graph()
      .add({.op = "ReducedShape",
            .name = "ReducedShape",
            .inputs = {sizes, op.input(1)},
            .site = op.site()})
      .output(0);
}

/// Reshapes a value with the shape of the result so that the reduced dimensions have size 1.
Tensor with_reduced_dims(const Operation& op, const Tensor& value) {
  if (op.attrs().as<ReduceAttrs>().keep_dims) return value;
  return reshape(value, kept_shape(op), {}, op.site());
}

/// Broadcasts a value with the shape of the result to the shape of the input.
Tensor broadcast_to_input(const Operation& op, const Tensor& value) {
  const Tensor x = op.input(0);
  const Tensor wide =
      broadcast_to(with_reduced_dims(op, value), towerflow::shape(x, {}, op.site()), {}, op.site());
  Tensor(wide).set_shape(x.shape(), op.site());
  return wide;
}

}  // namespace

void register_reduced_shape(OpRegistry& registry) {
  registry.add({.name = "ReducedShape",
                .inputs = {"input_shape: int32", "reduction_indices: Index(Tidx)"},
                .outputs = {"shape: int32"},
                .shape = [](InferenceContext& c) { c.add_output(DType::int32, c.shape(0)); },
                .gradient = NoGradient{"shapes are integers"},
                .export_form = export_forms::reduced_shape});
}

void register_reduced_shape_kernels(KernelTable& table) {
  table.add({.op = "ReducedShape",
             .label = "shape",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               const auto rank = static_cast<std::size_t>(request.inputs[0].shape.elements());
               const std::int64_t axes = request.inputs[1].shape.elements();
               const DType dtype = request.inputs[1].dtype;
               return function_kernel([=](const LaunchArgs& args) {
                 std::copy_n(args.input<std::int32_t>(0), rank, args.output<std::int32_t>(0));
                 for (std::int64_t i = 0; i < axes; ++i) {
                   const std::int64_t axis = integer_at(dtype, args.inputs[1], i);
                   args.output<std::int32_t>(0)[checked_axis(axis, rank)] = 1;
                 }
               });
             }});
}

namespace reduce_gradients {

Gradients sum(const Operation& op, const Gradients& dys) {
  return {broadcast_to_input(op, dense_gradient(dys[0], op.site())), std::nullopt};
}

/// dy / (number of elements reduced to one), divided before it is broadcast.
Gradients mean(const Operation& op, const Gradients& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const std::int64_t in = op.input(0).shape().elements();
  const std::int64_t out = op.output(0).shape().elements();
  Tensor count;
  if (op.input(0).shape().fully_known() && op.output(0).shape().fully_known()) {
    count = scalar_like(dy, static_cast<double>(in / std::max<std::int64_t>(out, 1)), site);
  } else {
    const Tensor results = maximum(size(op.output(0), {}, site), 1, {}, site);
    count = cast(floordiv(size(op.input(0), {}, site), results, {}, site), dy.dtype(), {}, site);
  }
  return {broadcast_to_input(op, truediv(dy, count, {}, site)), std::nullopt};
}

/// dy * (the product of all others).
Gradients prod(const Operation& op, const Gradients& dys) {
  const Site site = op.site();
  const Tensor others = op.graph()
                            .add({.op = "ProductOfOthers",
                                  .name = "ProductOfOthers",
                                  .inputs = {op.input(0), op.input(1)},
                                  .site = site})
                            .output(0);
  const Tensor dy = broadcast_to_input(op, dense_gradient(dys[0], site));
  return {multiply(dy, others, {}, site), std::nullopt};
}

/// Equal shares for all elements that equal the maximum or minimum.
Gradients extreme(const Operation& op, const Gradients& dys) {
  const Site site = op.site();
  const Tensor x = op.input(0);
  const Tensor hits =
      cast(equal(with_reduced_dims(op, op.output(0)), x, {}, site), x.dtype(), {}, site);
  const Operand axes(op.input(1), site);
  const Tensor count = OpBuilder("Sum", "", site, {&axes})
                           .input(hits, "input")
                           .index_input(axes, "reduction_indices")
                           .attrs(ReduceAttrs{true})
                           .output();
  const Tensor dy = with_reduced_dims(op, dense_gradient(dys[0], site));
  return {multiply(truediv(hits, count, {}, site), dy, {}, site), std::nullopt};
}

}  // namespace reduce_gradients
}  // namespace towerflow
