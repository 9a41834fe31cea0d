#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  bool adjoint_a = false;  ///< of real numbers, the same as transpose_a
  bool adjoint_b = false;
  std::string name{};
};

/// Multiplies two matrices, each transposed first if requested, or all pairs of matrices in the
/// last two dimensions of two tensors. Dimensions before these broadcast. Adds an op MatMul for two
/// matrices, else an op BatchMatMulV2, also if a rank is unknown.
///
/// shapes   a [.., n, k] (transposed [.., k, n]), b [.., k, m] (transposed [.., m, k]) -> [.., n,
/// m] dtypes   float32, float64, int32, int64, the same for both grads    a, b errors   ValueError:
/// an operand with less than two dimensions, inner sizes that differ, batches
///          that do not broadcast, a matrix both transposed and adjoint; TypeError: dtypes that
///          differ or that the op does not take
/// source   tf.matmul
Tensor matmul(const Operand& a, const Operand& b, MatMulOptions options = {},
              Site site = Site::current());

}  // namespace towerflow
