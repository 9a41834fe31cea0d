#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ReverseOptions {
  std::string name{};
};

/// The tensor with the order of its elements turned round along each of `axis`.
///
/// shapes   tensor [..], axis [n] (int32 or int64; -1 is the last) -> as tensor     dtypes  all
/// grads    tensor: dy turned round again; axis: none
/// errors   ValueError: axis is no vector, names one that is not there or one twice; where it is
///          known in the run alone, InvalidArgumentError there
/// source   tf.reverse
Tensor reverse(const Operand& tensor, const Operand& axis, ReverseOptions options = {},
               Site site = Site::current());

}  // namespace towerflow
