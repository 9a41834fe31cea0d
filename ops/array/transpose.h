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

}  // namespace towerflow
