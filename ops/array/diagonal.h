#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct DiagOptions {
  std::string name{};
};

/// Returns a tensor with the given diagonal, y[i, .., i, ..] = diagonal[i, ..], and zeros
/// elsewhere.
///
/// shapes   diagonal [d1, .., dk] -> [d1, .., dk, d1, .., dk]
/// dtypes   float32, float64, int32, int64
/// grads    diagonal: the diagonal of dy
/// errors   ValueError: a scalar; TypeError: dtype
/// source   tf.diag
Tensor diag(const Operand& diagonal, DiagOptions options = {}, Site site = Site::current());

/// Returns the diagonal of a tensor; undoes `diag`.
///
/// shapes   input [d1, .., dk, d1, .., dk] -> [d1, .., dk]
/// dtypes   float32, float64, int32, int64
/// grads    input: dy on the diagonal
/// errors   ValueError: the halves of the shape differ; TypeError: dtype
/// source   tf.diag_part
Tensor diag_part(const Operand& input, DiagOptions options = {}, Site site = Site::current());

/// Diagonals of the matrices in the last two dimensions. `k` is a diagonal, counted from the main
/// one upwards, or a band {lowest, highest}. The diagonals of a band are rows from the highest to
/// the lowest. Shorter ones are padded; `align` tells on which side those above and those below the
/// main diagonal stand: "RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT" or "RIGHT_RIGHT".
struct MatrixDiagOptions {
  std::string name = "diag";
  Operand k = 0;
  Operand num_rows = -1;  ///< -1: as many as needed
  Operand num_cols = -1;
  Operand padding_value = 0;  ///< of the elements outside the diagonals
  std::string align = "RIGHT_LEFT";
};

/// Returns matrices with the given diagonals.
///
/// shapes   diagonal [.., n], for a band of m diagonals [.., m, n] -> [.., rows, columns]
/// dtypes   all; k, num_rows, num_cols int32
/// grads    diagonal: the diagonals of dy; the others: none
/// errors   ValueError, at run time InvalidArgumentError: shapes, k and sizes that do not fit
/// source   tf.matrix_diag
Tensor matrix_diag(const Operand& diagonal, MatrixDiagOptions options = {},
                   Site site = Site::current());

struct MatrixDiagPartOptions {
  std::string name = "diag_part";
  Operand k = 0;
  Operand padding_value = 0;  ///< of the places beside shorter diagonals
  std::string align = "RIGHT_LEFT";
};

/// Returns diagonals of matrices.
///
/// shapes   input [.., rows, columns] -> [.., n], for a band of m diagonals [.., m, n], where n is
///          the length of the longest one
/// dtypes   all; k int32
/// grads    input: dy on the diagonals, zeros elsewhere; the others: none
/// errors   ValueError, at run time InvalidArgumentError: a diagonal outside the matrices
/// source   tf.matrix_diag_part
Tensor matrix_diag_part(const Operand& input, MatrixDiagPartOptions options = {},
                        Site site = Site::current());

struct MatrixSetDiagOptions {
  std::string name = "set_diag";
  Operand k = 0;
  std::string align = "RIGHT_LEFT";
};

/// Returns matrices with their diagonals replaced.
///
/// shapes   input [.., rows, columns], diagonal as of matrix_diag_part -> as input
/// dtypes   all, the same for both; k int32
/// grads    input: dy with zeros on the diagonals; diagonal: the diagonals of dy
/// errors   ValueError, at run time InvalidArgumentError: shapes and k that do not fit
/// source   tf.matrix_set_diag
Tensor matrix_set_diag(const Operand& input, const Operand& diagonal,
                       MatrixSetDiagOptions options = {}, Site site = Site::current());

struct MatrixBandPartOptions {
  std::string name{};
};

/// Returns matrices with zeros outside a band: `num_lower` diagonals below the main one and
/// `num_upper` above it are kept, all of them if negative.
///
/// shapes   input [.., rows, columns], num_lower [], num_upper [] -> as input
/// dtypes   all; num_lower and num_upper int32, int64, both the same
/// grads    input: the band of dy; the others: none
/// errors   ValueError: rank below 2; at run time InvalidArgumentError: more diagonals than there
/// are source   tf.matrix_band_part
Tensor matrix_band_part(const Operand& input, const ScalarOperand& num_lower,
                        const ScalarOperand& num_upper, MatrixBandPartOptions options = {},
                        Site site = Site::current());

struct TraceOptions {
  std::string name{};
};

/// Returns the sums of the main diagonals.
///
/// shapes   x [.., rows, columns] -> [..]     dtypes  all numbers
/// grads    x: dy on the diagonals
/// errors   ValueError: rank below 2
/// source   tf.trace
Tensor trace(const Operand& x, TraceOptions options = {}, Site site = Site::current());

}  // namespace towerflow
