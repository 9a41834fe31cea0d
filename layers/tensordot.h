#pragma once

#include "ops/variables/variable.h"

namespace towerflow::layers {

/// Multiplies the last dimension of `x`, number `axis`, by a matrix, with the nodes of
/// tf.tensordot(x, matrix, [[axis], [0]]).
///
/// shapes   x [.., n], matrix [n, m] -> [.., m]     dtypes  float32, float64
/// grads    x, matrix
Tensor tensordot_last(const Tensor& x, std::size_t axis, const Variable& matrix, Site site);

}  // namespace towerflow::layers
