#include "layers/moving_average.h"

#include "ops/array/cast.h"
#include "ops/array/indexed_slices.h"
#include "ops/math/binary.h"
#include "ops/variables/assign.h"

namespace towerflow::layers {
namespace {

Tensor assign_average(const Variable& variable, const Tensor& value, Tensor decay,
                      const std::string& scope, Site site) {
  if (decay.dtype() != variable.dtype()) decay = cast(decay, variable.dtype(), {}, site);
  const Tensor distance = Operand(variable, site) - Operand(value, site);
  const Tensor delta = Operand(distance, site) * Operand(decay, site);
  return assign_sub(variable, Operand(delta, site), {.name = scope}, site);
}

}  // namespace

Tensor update_average(const Variable& variable, const Tensor& value, double momentum, Site site) {
  const NameScope names(variable.graph(), "AssignMovingAvg", site);
  const ColocationScope with_variable = colocate_with(variable.op(), false, site);
  const Tensor decay = convert_to_tensor(Operand(1.0 - momentum, site), {.name = "decay"}, site);
  return assign_average(variable, value, decay, names.name(), site);
}

Tensor update_average_freely(const Variable& variable, const Tensor& value, double momentum,
                             Site site) {
  const NameScope names(variable.graph(), "AssignMovingAvg", site);
  const Tensor decay = convert_to_tensor(Operand(1.0 - momentum, site), {.name = "decay"}, site);
  return assign_average(variable, value, decay, names.name(), site);
}

Tensor update_average_by(const Variable& variable, const Tensor& value, const Operand& momentum,
                         Site site) {
  const NameScope names(variable.graph(), "AssignMovingAvg", site);
  const ColocationScope with_variable = colocate_with(variable.op(), false, site);
  const Tensor decay = Operand(1.0, site) - momentum;
  return assign_average(variable, value, decay, names.name(), site);
}

}  // namespace towerflow::layers
