#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::types {

/// The result of `qr`: `const auto [q, r] = tf::qr(x);`
struct QrFactors {
  Tensor q;  ///< columns of length 1, at right angles to each other
  Tensor r;  ///< upper triangular
};

}  // namespace towerflow::types

namespace towerflow {

struct QrOptions {
  bool full_matrices = false;  ///< whether q is square, else it has as many columns as needed
  std::string name{};
};

/// Returns the factors of each matrix: input = q r.
///
/// shapes   input [.., m, n] -> q [.., m, p], r [.., p, n], p the smaller of m and n; with
///          full_matrices p = m
/// dtypes   float32, float64
/// grads    none yet: the gradient needs MatrixTriangularSolve
/// errors   ValueError: rank below 2; TypeError: dtype
/// source   tf.linalg.qr, tf.qr
QrFactors qr(const Operand& input, QrOptions options = {}, Site site = Site::current());

namespace linalg {

using towerflow::qr;

}  // namespace linalg
}  // namespace towerflow
