#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct CrossOptions {
  std::string name{};
};

/// The cross product of the vectors of three numbers along the last dimension.
///
/// shapes   a, b [.., 3] equal -> as a      dtypes   all numbers, the same for both
/// grads    a, b
/// errors   ValueError: shapes that differ, a last size other than 3; TypeError: dtypes that differ
///          or that the op does not take
/// source   tf.cross
Tensor cross(const Operand& a, const Operand& b, CrossOptions options = {},
             Site site = Site::current());

}  // namespace towerflow
