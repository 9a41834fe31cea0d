#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SliceOptions {
  std::string name{};
};

/// Extracts a slice of a tensor: in each dimension `size` elements from `begin`; -1 means up to the
/// end.
///
/// shapes   input [d0, ..], begin [r], size [r] (int32 or int64) -> size     dtypes  all
/// grads    input: dy padded with zeros; begin, size: none
/// errors   ValueError, at run time InvalidArgumentError: a slice outside the tensor
/// source   tf.slice
Tensor slice(const Operand& input, const Operand& begin, const Operand& size,
             SliceOptions options = {}, Site site = Site::current());

}  // namespace towerflow
