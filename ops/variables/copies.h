#pragma once

#include <vector>

#include "ops/variables/variable.h"

namespace towerflow {

/// Says that programs read `copy` in place of `variable`: from then on, gradients with respect to
/// `variable` include those with respect to `copy`.
void add_copy(const Variable& variable, const Variable& copy);

/// Returns the storages of the copies of the variable whose storage is `ref`; none of other
/// tensors.
std::vector<Tensor> copies_of(const Tensor& ref);

}  // namespace towerflow
