#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SelectOptions {
  std::string name{};
};

/// Returns x where `condition` is true, else y.
///
/// shapes   x, y [d0, ..] equal; condition [d0, ..], [], or [d0] to choose whole rows
/// dtypes   condition bool; x and y all dtypes, the same
/// grads    x, y: dy where each was chosen, zero elsewhere; condition: none
/// errors   ValueError: shapes that do not match; TypeError: dtypes that do not match
/// source   tf.where (compat.v1, with three arguments)
Tensor where(const Operand& condition, const Operand& x, const Operand& y,
             SelectOptions options = {}, Site site = Site::current());

/// As `where`, with all three broadcast to each other. (tf.where_v2)
Tensor where_v2(const Operand& condition, const Operand& x, const Operand& y,
                SelectOptions options = {}, Site site = Site::current());

}  // namespace towerflow
