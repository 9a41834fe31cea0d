#pragma once

#include <vector>

#include "core/graph/tensor.h"

namespace towerflow {

/// The sum of several gradients of one tensor: AddN of dense ones; slices side by side, which need
/// no addition; a mixture as a dense sum. Needs at least one.
Gradient aggregate_gradients(const std::vector<Gradient>& gradients, Site site);

}  // namespace towerflow
