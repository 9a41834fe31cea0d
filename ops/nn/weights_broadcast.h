#pragma once

#include "core/graph/operand.h"

namespace towerflow::losses {

/// Weights of losses broadcast less freely than other operands: they are a scalar, or have the rank
/// of the values and in each dimension size 1 or that of the values.

/// An operation that has run when `weights` fit `values`: does nothing where the shapes tell when
/// the graph is built, else looks in the run.
///
/// errors   ValueError: weights that do not fit; UnimplementedError: an unknown rank;
///          InvalidArgumentError, in a run: sizes that do not fit
/// source   weights_broadcast_ops.assert_broadcastable
Operation assert_broadcastable(const Operand& weights, const Operand& values, Site site);

/// The weights repeated to the shape of `values`; the weights themselves where both shapes are
/// known and equal.
///
/// shapes   weights as above, values [..] -> [..]     dtypes  all numbers, both the same
/// grads    weights: summed over what was repeated; values: zero
/// errors   as assert_broadcastable
/// source   weights_broadcast_ops.broadcast_weights
Tensor broadcast_weights(const Tensor& weights, const Tensor& values, Site site);

}  // namespace towerflow::losses
