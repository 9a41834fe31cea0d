#pragma once

#include <string>

#include "ops/operand_list.h"

namespace towerflow {

struct AssertOptions {
  int summarize = 3;  ///< elements of each tensor in the message, -1 for all
  std::string name{};
};

/// Adds an operation that fails unless `condition` is true, with the values of `data` in the
/// message. Operations that depend on it must list it in `control_dependencies`.
///
/// shapes   condition bool [], data any     dtypes  data: all
/// grads    none: it has no output
/// errors   InvalidArgumentError "assertion failed: [x must be positive] [-1 2 3...]"
/// source   tf.Assert
Operation Assert(const Operand& condition, const OperandList& data, AssertOptions options = {},
                 Site site = Site::current());

}  // namespace towerflow
