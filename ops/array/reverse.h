#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ReverseOptions {
  std::string name{};
};

/// Reverses the order of elements along each of `axis`.
///
/// shapes   tensor [..], axis [n] (int32 or int64; -1 is the last) -> as tensor     dtypes  all
/// grads    tensor: dy reversed; axis: none
/// errors   ValueError: axis is not a vector, out of range, or repeated; InvalidArgumentError if
///          that is only known at run time
/// source   tf.reverse
Tensor reverse(const Operand& tensor, const Operand& axis, ReverseOptions options = {},
               Site site = Site::current());

}  // namespace towerflow
