#pragma once

#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow {

struct TransposeOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// Permutes dimensions: dimension i of the result is dimension perm[i] of `a`; without `perm` their
/// order is reversed.
///
/// shapes   a [d0, ..], perm [r] (int32 or int64) -> [d(perm[0]), ..]     dtypes  all
/// grads    a: dy transposed back; perm: none
/// errors   ValueError: perm not of one number per dimension, or out of range; at run time
///          InvalidArgumentError: a number that repeats
/// source   tf.transpose
/// (A template, so that braces in place of `perm` are taken for options.)
template <class = void>
Tensor transpose(const Operand& a, const Operand& perm, TransposeOptions options = {},
                 Site site = Site::current());
Tensor transpose(const Operand& a, TransposeOptions options = {}, Site site = Site::current());

struct MatrixTransposeOptions {
  std::string name{};
};

/// Exchanges the last two dimensions.
///
/// shapes   a [.., rows, columns] -> [.., columns, rows]     dtypes  all
/// grads    a: dy transposed
/// errors   ValueError: rank below 2
/// source   tf.matrix_transpose
Tensor matrix_transpose(const Operand& a, MatrixTransposeOptions options = {},
                        Site site = Site::current());

struct InvertPermutationOptions {
  std::string name{};
};

/// Returns the permutation that undoes `x`: y[x[i]] = i.
///
/// shapes   x [n] -> [n]     dtypes  int32, int64
/// grads    none: a permutation consists of integers
/// errors   ValueError: x is not a vector; TypeError: dtype; at run time InvalidArgumentError: a
///          number that is not in [0, n) or occurs twice
/// source   tf.invert_permutation
Tensor invert_permutation(const Operand& x, InvertPermutationOptions options = {},
                          Site site = Site::current());

}  // namespace towerflow
