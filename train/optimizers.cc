// GradientDescentOptimizer and MomentumOptimizer: slots, hyperparameters and update ops.
#include "core/graph/op_builder.h"
#include "ops/array/cast.h"
#include "ops/math/binary.h"
#include "ops/variables/apply.h"
#include "ops/variables/assign.h"
#include "train/optimizer.h"

namespace towerflow::train {

GradientDescentOptimizer::GradientDescentOptimizer(ScalarOperand learning_rate,
                                                   GradientDescentOptions options)
    : Optimizer(std::move(options.name), options.use_locking),
      learning_rate_(std::move(learning_rate)) {}

void GradientDescentOptimizer::prepare(Graph& graph, Site) {
  rate_ = convert_operand(graph, learning_rate_, "learning_rate", std::nullopt);
}

Operation GradientDescentOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                                Site site) {
  return apply_gradient_descent(variable, cast(rate_, variable.dtype(), {}, site), gradient, "",
                                {.use_locking = use_locking()}, site);
}

Operation GradientDescentOptimizer::apply_sparse(const IndexedSlices& gradient,
                                                 const Variable& variable, Site site) {
  const Tensor scaled =
      multiply(gradient.values, cast(rate_, variable.dtype(), {}, site), {.name = "mul"}, site);
  return scatter_sub(variable, gradient.indices, scaled, {.use_locking = use_locking()}, site).op();
}

MomentumOptimizer::MomentumOptimizer(ScalarOperand learning_rate, ScalarOperand momentum,
                                     MomentumOptions options)
    : Optimizer(std::move(options.name), options.use_locking),
      learning_rate_(std::move(learning_rate)),
      momentum_(std::move(momentum)),
      use_nesterov_(options.use_nesterov) {}

void MomentumOptimizer::create_slots(const std::vector<Variable>& variables, Site site) {
  for (const Variable& variable : variables) zeros_slot(variable, "momentum", site);
}

void MomentumOptimizer::prepare(Graph& graph, Site) {
  rate_ = convert_operand(graph, learning_rate_, "learning_rate", std::nullopt);
  momentum_tensor_ = convert_operand(graph, momentum_, "momentum", std::nullopt);
}

Operation MomentumOptimizer::apply_dense(const Tensor& gradient, const Variable& variable,
                                         Site site) {
  const Tensor rate = cast(rate_, variable.dtype(), {}, site);
  const Tensor factor = cast(momentum_tensor_, variable.dtype(), {}, site);
  return apply_momentum(variable, *get_slot(variable, "momentum"), rate, gradient, factor, "",
                        {.use_locking = use_locking(), .use_nesterov = use_nesterov_}, site);
}

Operation MomentumOptimizer::apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                          Site site) {
  const Tensor rate = cast(rate_, variable.dtype(), {}, site);
  const Tensor factor = cast(momentum_tensor_, variable.dtype(), {}, site);
  return sparse_apply_momentum(variable, *get_slot(variable, "momentum"), rate, gradient.values,
                               gradient.indices, factor, "",
                               {.use_locking = use_locking(), .use_nesterov = use_nesterov_}, site);
}

}  // namespace towerflow::train
