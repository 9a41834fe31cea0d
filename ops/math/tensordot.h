#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct TensordotOptions {
  std::string name{};
};

/// Sums the products of all elements of `a` and `b` over pairs of axes. `axes` is a number n, for
/// the last n axes of `a` with the first n of `b`; a pair of axes, `{1, 0}`; a pair of lists,
/// `{{1, 2}, {0, 1}}`; or an int32 tensor of two rows. Composed of transposes, reshapes and a
/// matrix product; those that would change nothing are left out.
///
/// shapes   a [..], b [..] -> the other dimensions of a, then those of b
/// dtypes   those of matmul
/// grads    a, b; axes: none
/// errors   ValueError: a negative number of axes, or more than a has; lists of different lengths,
///          sizes that differ
/// source   tf.tensordot
Tensor tensordot(const Operand& a, const Operand& b, const Operand& axes,
                 TensordotOptions options = {}, Site site = Site::current());

}  // namespace towerflow
