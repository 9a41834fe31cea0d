#pragma once

#include "core/graph/operand.h"

namespace towerflow {

/// The gradient of a broadcast: `gradient`, whose shape is that of the result, summed over the
/// dimensions along which `x` was repeated. Makes no node where both shapes are known to be equal.
Tensor sum_to_shape_of(const Tensor& gradient, const Tensor& x, Site site);

/// A constant scalar of the dtype of `like`, in its graph.
Tensor scalar_like(const Tensor& like, double value, Site site);

}  // namespace towerflow
