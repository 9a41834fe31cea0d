#include "train/schedules.h"

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"

namespace towerflow::train {

Tensor exponential_decay(const Operand& learning_rate, const Operand& global_step,
                         const Operand& decay_steps, const Operand& decay_rate,
                         ExponentialDecayOptions options, Site site) {
  const Tensor* any =
      learning_rate.any_tensor() != nullptr ? learning_rate.any_tensor() : global_step.any_tensor();
  Graph& graph = any != nullptr ? any->graph() : get_default_graph();
  const NameScope scope(graph, options.name.empty() ? "ExponentialDecay" : options.name, site);
  const Tensor initial =
      convert_operand(graph, learning_rate, "initial_learning_rate", std::nullopt);
  const Tensor steps = cast(decay_steps, initial.dtype(), {}, site);
  const Tensor rate = cast(decay_rate, initial.dtype(), {}, site);
  const Tensor now = cast(global_step, initial.dtype(), {}, site);
  Tensor periods = Operand(now, site) / steps;
  if (options.staircase) periods = floor(periods, {}, site);
  const Tensor factor = pow(rate, periods, {}, site);
  return multiply(initial, factor, {.name = scope.name()}, site);
}

}  // namespace towerflow::train
