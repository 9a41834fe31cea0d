#pragma once

#include "core/graph/operand.h"

namespace towerflow {

/// Returns the gradient of a broadcast operand `x`: `gradient`, which has the shape of the result,
/// summed over the dimensions along which `x` was repeated. Adds no node if both shapes are known
/// to be equal.
Tensor sum_to_shape_of(const Tensor& gradient, const Tensor& x, Site site);

/// Returns a constant scalar of the dtype of `like`, in its graph.
Tensor scalar_like(const Tensor& like, double value, Site site);

}  // namespace towerflow
