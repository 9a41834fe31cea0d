#include "ops/array/reverse.h"

#include <fmt/format.h>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/operands.h"
#include "ops/family.h"
#include "ops/strided_copy.h"

namespace towerflow {
namespace {

/// Returns for each dimension whether it is reversed. Throws InvalidArgumentError for bad axes.
std::vector<bool> reversed_axes(const Array& axes, std::size_t rank) {
  std::vector<bool> is_reversed(rank, false);
  for (const std::int64_t axis : integers_of(axes)) {
    const auto at = normalized_axis(axis, rank);
    if (!at) {
      throw errors::InvalidArgumentError(
          fmt::format("'axis' of a reverse: {} is out of valid range [-{}, {})", axis, rank, rank));
    }
    if (is_reversed[*at]) {
      throw errors::InvalidArgumentError(fmt::format("axis {} specified more than once.", *at));
    }
    is_reversed[*at] = true;
  }
  return is_reversed;
}

void reverse_shape(InferenceContext& context) {
  const Shape& x = context.shape(0);
  const Shape& axes = context.shape(1);
  if (axes.has_rank() && axes.rank() != 1) {
    context.fail(
        fmt::format("Shape must be rank 1 but is rank {}: the axes of a reverse", axes.rank()));
  }
  const Array* known = context.constant(1);
  try {
    if (known != nullptr && x.has_rank()) reversed_axes(*known, x.rank());
  } catch (const errors::InvalidArgumentError& error) {
    context.fail(error.message());
  }
  context.add_output(context.dtype(0), x);
}

std::vector<OptionalGradient> reverse_gradient(const Operation& op,
                                               const std::vector<OptionalGradient>& dys) {
  return {reverse(dense_gradient(dys[0], op.site()), op.input(1), {}, op.site()), std::nullopt};
}

std::unique_ptr<PreparedKernel> reverse_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape shape = request.inputs[0].shape;
  const std::vector<bool> is_reversed = reversed_axes(request.values.at(1), shape.rank());
  const std::vector<std::int64_t> strides = dense_strides(shape);
  return strided_copy_kernel(request, 1, [=](std::size_t, StridedCopy& copy) {
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (is_reversed[i]) copy.from_offset += (shape.size(i) - 1) * strides[i];
      copy.add(shape.size(i), is_reversed[i] ? -strides[i] : strides[i], strides[i]);
    }
  });
}

}  // namespace

static void register_reverse_ops(OpRegistry& registry) {
  registry.add({.name = "ReverseV2",
                .inputs = {"tensor: T", "axis: Index(Tidx)"},
                .outputs = {"output: T"},
                .shape = reverse_shape,
                .gradient = reverse_gradient,
                .static_inputs = {1}});
}

static void register_reverse_kernels(KernelTable& table) {
  table.add({.op = "ReverseV2", .label = "copy", .accepts = {}, .prepare = reverse_kernel});
}

OpFamily reverse_family() {
  return {.ops = register_reverse_ops, .kernels = register_reverse_kernels};
}

Tensor reverse(const Operand& tensor, const Operand& axis, ReverseOptions options, Site site) {
  return OpBuilder("ReverseV2", options.name, site, {&tensor, &axis})
      .input(tensor, "tensor")
      .index_input(axis, "axis")
      .output();
}

}  // namespace towerflow
