#pragma once

#include <string>
#include <vector>

#include "autodiff/gradients.h"

namespace towerflow {

/// Returns the sum of gradients, at least one, of an output of the op called `of`: dense ones are
/// added by AddN as `method` specifies, slices are concatenated, a mixture is made dense and added.
Gradient aggregate_gradients(const std::vector<Gradient>& gradients, const std::string& of,
                             AggregationMethod method, Site site);

}  // namespace towerflow
