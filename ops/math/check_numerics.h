#pragma once

#include "core/graph/operand.h"

namespace towerflow {

struct CheckNumericsOptions {
  std::string name{};
};

/// Returns `tensor` if all of its elements are finite numbers; else running it is an error, with
/// `message` before " : Tensor had NaN values".
///
/// shapes   tensor [...] -> [...]     dtypes  float32, float64
/// grads    tensor: dy, checked in the same way
/// errors   TypeError: other dtypes; at run time InvalidArgumentError: NaN or infinity
/// source   tf.check_numerics
Tensor check_numerics(const Operand& tensor, const Text& message, CheckNumericsOptions options = {},
                      Site site = Site::current());

/// Returns `x`, which waits for `check_numerics` of it. (tf.verify_tensor_all_finite)
Tensor verify_tensor_all_finite(const Operand& x, const Text& message,
                                CheckNumericsOptions options = {}, Site site = Site::current());

/// Adds `check_numerics` of each floating-point tensor in the default graph, with its name as the
/// message, and returns an operation that runs all of them. A tensor is checked before those that
/// were added after it, so that the first one with NaN or infinity is reported.
/// (tf.add_check_numerics_ops)
Operation add_check_numerics_ops(Site site = Site::current());

}  // namespace towerflow
