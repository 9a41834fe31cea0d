#pragma once

#include "core/graph/operand.h"

namespace towerflow::losses {

/// Weights of losses broadcast less freely than other operands: they must be a scalar, or have the
/// rank of the values and in each dimension size 1 or that of the values.

/// Returns an operation that checks that `weights` fit `values`. It does nothing if the static
/// shapes settle that, else it checks in the run.
///
/// errors   ValueError: weights that do not fit; in a run InvalidArgumentError: a rank or sizes
///          that do not fit
/// source   weights_broadcast_ops.assert_broadcastable
Operation assert_broadcastable(const Operand& weights, const Operand& values, Site site);

/// Returns the weights repeated to the shape of `values`, or the weights themselves if both shapes
/// are known and equal.
///
/// shapes   weights as above, values [..] -> [..]     dtypes  all numbers, both the same
/// grads    weights: summed over the dimensions that were repeated; values: zero
/// errors   as assert_broadcastable
/// source   weights_broadcast_ops.broadcast_weights
Tensor broadcast_weights(const Tensor& weights, const Tensor& values, Site site);

}  // namespace towerflow::losses
