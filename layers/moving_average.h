#pragma once

#include "ops/variables/variable.h"

namespace towerflow::layers {

/// Adds the op variable -= (variable - value) * (1 - momentum) and returns the variable after it.
/// (moving_averages.assign_moving_average without a correction of the start)
Tensor update_average(const Variable& variable, const Tensor& value, double momentum, Site site);
/// The same; only the assignment is colocated with the variable.
Tensor update_average_freely(const Variable& variable, const Tensor& value, double momentum,
                             Site site);

/// The same with a momentum that is a tensor.
Tensor update_average_by(const Variable& variable, const Tensor& value, const Operand& momentum,
                         Site site);

}  // namespace towerflow::layers
