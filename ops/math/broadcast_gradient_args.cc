#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/device/cpu/launch.h"
#include "ops/array/operands.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"

namespace towerflow {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Returns the axes over which each operand's gradient is summed: none if the shapes are equal,
/// else those where the operand's size is 1 or missing, even if the result's size there is 1 too.
std::array<Sizes, 2> axes_to_sum(const std::array<Sizes, 2>& operands) {
  std::array<Sizes, 2> axes;
  if (operands[0] == operands[1]) return axes;
  const std::size_t rank = std::max(operands[0].size(), operands[1].size());
  for (std::size_t i = 0; i < rank; ++i) {
    std::array<std::int64_t, 2> size{1, 1};
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t missing = rank - operands[k].size();
      if (i >= missing) size[k] = operands[k][i - missing];
      if (size[k] == 1) axes[k].push_back(static_cast<std::int64_t>(i));
    }
    if (size[0] != size[1] && size[0] != 1 && size[1] != 1) {
      throw errors::InvalidArgumentError(fmt::format("Incompatible shapes: [{}] vs. [{}]",
                                                     fmt::join(operands[0], ","),
                                                     fmt::join(operands[1], ",")));
    }
  }
  return axes;
}

void axes_shape(InferenceContext& context) {
  const DType dtype = context.dtype(0);
  if (dtype != DType::int32 && dtype != DType::int64) {
    context.fail_type(fmt::format("sizes of {}", dtype_name(dtype)));
  }
  for (std::size_t k = 0; k < 2; ++k) {
    if (context.shape(k).has_rank() && context.shape(k).rank() != 1) {
      context.fail(fmt::format("Shape must be rank 1 but is rank {}: the sizes of an operand",
                               context.shape(k).rank()));
    }
  }
  std::array<Shape, 2> found{Shape{None}, Shape{None}};
  const Array *s0 = context.constant(0), *s1 = context.constant(1);
  if (s0 != nullptr && s1 != nullptr) {
    try {
      const auto axes = axes_to_sum({integers_of(*s0), integers_of(*s1)});
      for (std::size_t k = 0; k < 2; ++k) {
        found[k] = Shape{static_cast<std::int64_t>(axes[k].size())};
      }
    } catch (const errors::InvalidArgumentError& error) {
      context.fail(error.message());
    }
  }
  for (Shape& shape : found) context.add_output(dtype, std::move(shape));
}

std::unique_ptr<PreparedKernel> axes_kernel(const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  std::array<std::int64_t, 2> ranks{}, known{};
  for (std::size_t k = 0; k < 2; ++k) {
    ranks[k] = request.inputs[k].shape.elements();
    known[k] = request.outputs[k].shape.fully_known() ? request.outputs[k].shape.elements() : -1;
  }
  return function_kernel([=](const LaunchArgs& args) {
    std::array<Sizes, 2> operands;
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::int64_t i = 0; i < ranks[k]; ++i) {
        operands[k].push_back(integer_at(dtype, args.inputs[k], i));
      }
    }
    const std::array<Sizes, 2> axes = axes_to_sum(operands);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto count = static_cast<std::int64_t>(axes[k].size());
      void* out = args.outputs[k];
      if (known[k] < 0) {
        out = args.arrays->allocate(k, Shape{count});
      } else if (count != known[k]) {
        throw errors::InvalidArgumentError(
            "the operands do not have the sizes that the graph expects");
      }
      for (std::size_t i = 0; i < axes[k].size(); ++i) {
        if (dtype == DType::int32)
          static_cast<std::int32_t*>(out)[i] = static_cast<std::int32_t>(axes[k][i]);
        else
          static_cast<std::int64_t*>(out)[i] = axes[k][i];
      }
    }
  });
}

}  // namespace

// Op BroadcastGradientArgs: the axes over which the gradients of two operands are summed after a
// broadcast. Occurs in graphs imported from TensorFlow and in exported ones.
//
// shapes   s0 [m], s1 [n], the sizes of the operands -> r0 [?], r1 [?], in ascending order
// dtypes   int32 and int64
// grads    none: axes are integers
// errors   in a run InvalidArgumentError: operands that do not broadcast
// source   tf.raw_ops.BroadcastGradientArgs
static void register_broadcast_gradient_args_ops(OpRegistry& registry) {
  registry.add({.name = "BroadcastGradientArgs",
                .inputs = {"s0: T", "s1: T"},
                .outputs = {"r0: T", "r1: T"},
                .shape = axes_shape,
                .gradient = NoGradient{"axes are integers"}});
}

static void register_broadcast_gradient_args_kernels(KernelTable& table) {
  table.add(
      {.op = "BroadcastGradientArgs", .label = "loop", .accepts = {}, .prepare = axes_kernel});
}

OpFamily broadcast_gradient_args_family() {
  return {.ops = register_broadcast_gradient_args_ops,
          .kernels = register_broadcast_gradient_args_kernels};
}

}  // namespace towerflow
