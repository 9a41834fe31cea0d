#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SliceOptions {
  std::string name{};
};

/// A box cut out of a tensor: in each dimension `size` elements from `begin`; -1 means all the
/// rest.
///
/// shapes   input [d0, ..], begin [r], size [r] (int32 or int64) -> size     dtypes  all
/// grads    input: dy with zeros around it; begin, size: none
/// errors   ValueError, in a run InvalidArgumentError: a box that is not inside the tensor
/// source   tf.slice
Tensor slice(const Operand& input, const Operand& begin, const Operand& size,
             SliceOptions options = {}, Site site = Site::current());

}  // namespace towerflow
