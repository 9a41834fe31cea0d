#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  std::string name{};
};

/// Multiplies two matrices, each transposed first if requested.
///
/// shapes   a [n, k] (transposed [k, n]), b [k, m] (transposed [m, k]) -> [n, m]
/// dtypes   float32, float64, int32, int64, the same for both
/// grads    a, b
/// errors   ValueError: an operand that is not a matrix, inner sizes that differ; TypeError: dtypes
///          that differ or that the op does not take
/// source   tf.matmul of matrices
Tensor matmul(const Operand& a, const Operand& b, MatMulOptions options = {},
              Site site = Site::current());

}  // namespace towerflow
