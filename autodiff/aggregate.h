#pragma once

#include <string>
#include <vector>

#include "autodiff/gradients.h"

namespace towerflow {

/// The sum of several gradients of an output of the op called `of`: AddN of dense ones, as `method`
/// says; slices side by side, which need no addition; a mixture as a dense sum. Needs at least one.
Gradient aggregate_gradients(const std::vector<Gradient>& gradients, const std::string& of,
                             AggregationMethod method, Site site);

}  // namespace towerflow
