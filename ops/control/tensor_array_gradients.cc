#include <string>
#include <string_view>

#include "core/graph/error.h"
#include "core/graph/scopes.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/view.h"
#include "ops/control/tensor_array.h"
#include "ops/control/tensor_array_ops.h"

namespace towerflow {
namespace {

/// Returns the name of the call of `gradients` that made a tensor, such as "gradients_1". Each call
/// has gradient arrays of its own. (tensor_array_grad._GetGradSource)
std::string gradient_source(const Tensor& made, Site site) {
  constexpr std::string_view kBeginning = "gradients";
  const std::string name = made.name();
  std::size_t end = std::string::npos;
  for (std::size_t start = 0; start != std::string::npos;) {
    const std::size_t slash = name.find('/', start);
    if (std::string_view(name).substr(start).starts_with(kBeginning)) {
      end = slash == std::string::npos ? name.size() : slash;
    }
    start = slash == std::string::npos ? slash : slash + 1;
  }
  if (end == std::string::npos) {
    throw ValueError(
        "Expected op/tensor name to start with gradients (excluding scope), got: " + name,
        {.site = site, .hint = "give calls of tf::gradients names that start with 'gradients'"});
  }
  return name.substr(0, end);
}

/// Returns the gradient array of the array that `op` uses, for the call that made `dy`.
TensorArray gradient_array(const Operation& op, DType dtype, const Tensor& dy, const Tensor& flow) {
  const Site site = op.site();
  const std::string source = gradient_source(dy, site);
  const TensorArray array(
      dtype, {.handle = op.input(0), .flow = flow, .colocate_with_first_write_call = false}, site);
  return array.grad(source, {.flow = flow}, site);
}

/// Returns the gradient flow of a write, which waits for the write itself.
Tensor after_write(const Operation& op, const Tensor& flow) {
  const Site site = op.site();
  const Tensor flow_out = identity(op.output(0), {.name = "flow_out"}, site);
  const auto after = control_dependencies({flow_out}, site);
  return identity(flow, {.name = "write_barrier"}, site);
}

}  // namespace

std::vector<OptionalGradient> tensor_array_read_gradient(const Operation& op,
                                                         const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const TensorArray array = gradient_array(op, dy.dtype(), dy, op.input(2));
  const TensorArray written =
      array.write(ScalarOperand(op.input(1), op.site()), Operand(dy, op.site()), {}, op.site());
  return {std::nullopt, std::nullopt, written.flow()};
}

std::vector<OptionalGradient> tensor_array_write_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor flow = after_write(op, dy);
  const TensorArray array = gradient_array(op, op.input(2).dtype(), dy, flow);
  const Tensor dx = array.read(ScalarOperand(op.input(1), op.site()), {}, op.site());
  return {std::nullopt, std::nullopt, dx, flow};
}

std::vector<OptionalGradient> tensor_array_gather_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const TensorArray array = gradient_array(op, dy.dtype(), dy, op.input(2));
  const TensorArray written =
      array.scatter(Operand(op.input(1), op.site()), Operand(dy, op.site()), {}, op.site());
  return {std::nullopt, std::nullopt, written.flow()};
}

std::vector<OptionalGradient> tensor_array_scatter_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor flow = after_write(op, dy);
  const TensorArray array = gradient_array(op, op.input(2).dtype(), dy, flow);
  const Tensor dx = array.gather(Operand(op.input(1), op.site()), {}, op.site());
  return {std::nullopt, std::nullopt, dx, flow};
}

/// The lengths that the op returns have no gradient.
std::vector<OptionalGradient> tensor_array_concat_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  if (!dys[0]) return {std::nullopt, std::nullopt};
  const Tensor dy = dense_gradient(dys[0], op.site());
  const TensorArray array = gradient_array(op, dy.dtype(), dy, op.input(1));
  const TensorArray written =
      array.split(Operand(dy, op.site()), Operand(op.output(1), op.site()), {}, op.site());
  return {std::nullopt, written.flow()};
}

std::vector<OptionalGradient> tensor_array_split_gradient(
    const Operation& op, const std::vector<OptionalGradient>& dys) {
  const Tensor dy = dense_gradient(dys[0], op.site());
  const Tensor flow = after_write(op, dy);
  const TensorArray array = gradient_array(op, op.input(1).dtype(), dy, flow);
  const Tensor dx = array.concat({}, op.site());
  return {std::nullopt, dx, std::nullopt, flow};
}

}  // namespace towerflow
