#include "ops/array/roll.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "ops/array/indexed_slices.h"
#include "ops/family.h"
#include "ops/kernel_dims.h"
#include "ops/math/unary.h"
#include "ops/range_kernel.h"

namespace towerflow {
namespace {

void roll_shape(InferenceContext& context) {
  const Shape &input = context.shape(0), &shift = context.shape(1), &axis = context.shape(2);
  for (const std::size_t number : {1, 2}) {
    if (!is_index(context.dtype(number))) {
      context.fail_type(
          fmt::format("Value passed to parameter '{}' has DataType {} not in list of "
                      "allowed values: int32, int64",
                      number == 1 ? "shift" : "axis", dtype_name(context.dtype(number))));
    }
    if (context.shape(number).has_rank() && context.shape(number).rank() > 1) {
      context.fail(fmt::format("Shape must be at most rank 1 but is rank {}: the shifts of a roll",
                               context.shape(number).rank()));
    }
  }
  if (input.has_rank() && input.rank() == 0) {
    context.fail("Shape must be at least rank 1 but is rank 0: the input of a roll");
  }
  if (!shift.compatible(axis)) {
    context.fail(
        fmt::format("shifts of shape {} do not fit axes of shape {}", shift.text(), axis.text()));
  }
  context.add_output(context.dtype(0), input);
}

std::unique_ptr<PreparedKernel> roll_kernel(const KernelRequest& request) {
  check_kernel_rank(request);
  const Shape& input = request.inputs[0].shape;
  const std::vector<std::int64_t> shifts = integers_of(request.values.at(1));
  const std::vector<std::int64_t> axes = integers_of(request.values.at(2));
  if (input.rank() == 0 || shifts.size() != axes.size()) {
    throw errors::InvalidArgumentError(fmt::format("a roll of shape {} with {} shifts for {} axes",
                                                   input.text(), shifts.size(), axes.size()));
  }
  // Element i of a dimension comes from i + moved, counted cyclically.
  const std::vector<std::int64_t> sizes = input.sizes();
  std::vector<std::int64_t> moved(sizes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t at = checked_axis(axes[i], sizes.size());
    const std::int64_t size = std::max<std::int64_t>(sizes[at], 1);
    const std::int64_t back = (size - shifts[i] % size) % size;
    moved[at] = (moved[at] + back) % size;
  }
  const std::int64_t width = sizes.back(), elements = input.elements();
  const DType dtype = request.inputs[0].dtype;
  return rows_kernel(elements == 0 ? 0 : elements / width, width,
                     [=](SliceRange part, const void* const* inputs, void* const* outputs) {
                       dispatch_copyable(dtype, [&]<class T>() {
                         for (std::int64_t row = part.begin; row < part.end; ++row) {
                           std::int64_t rest = row, source = 0, stride = 1;
                           for (std::size_t d = sizes.size() - 1; d-- > 0;) {
                             source += (rest % sizes[d] + moved[d]) % sizes[d] * stride;
                             stride *= sizes[d];
                             rest /= sizes[d];
                           }
                           const T* from = static_cast<const T*>(inputs[0]) + source * width;
                           T* to = static_cast<T*>(outputs[0]) + row * width;
                           std::rotate_copy(from, from + moved.back(), from + width, to);
                         }
                       });
                     });
}

std::vector<OptionalGradient> roll_gradient(const Operation& op,
                                            const std::vector<OptionalGradient>& dys) {
  const Site site = op.site();
  const Tensor dy = dense_gradient(dys[0], site);
  const Tensor back = negative(op.input(1), {}, site);
  return {roll(dy, back, op.input(2), {}, site), std::nullopt, std::nullopt};
}

}  // namespace

static void register_roll_ops(OpRegistry& registry) {
  registry.add({.name = "Roll",
                .inputs = {"input: T", "shift: Index(Tshift)", "axis: Index(Taxis)"},
                .outputs = {"output: T"},
                .shape = roll_shape,
                .gradient = roll_gradient,
                .static_inputs = {1, 2}});
}

static void register_roll_kernels(KernelTable& table) {
  table.add({.op = "Roll", .label = "copy", .accepts = {}, .prepare = roll_kernel});
}

OpFamily roll_family() { return {.ops = register_roll_ops, .kernels = register_roll_kernels}; }

Tensor roll(const Operand& input, const Operand& shift, const Operand& axis, RollOptions options,
            Site site) {
  return OpBuilder("Roll", options.name, site, {&input, &shift, &axis})
      .input(input, "input")
      .index_input(shift, "shift")
      .index_input(axis, "axis")
      .output();
}

}  // namespace towerflow
