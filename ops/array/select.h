#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SelectOptions {
  std::string name{};
};

/// x where `condition` is true, else y.
///
/// shapes   x, y [d0, ..] equal; condition [d0, ..], [] or [d0], then it picks whole rows
/// dtypes   condition bool; x and y all dtypes, the same
/// grads    x, y: dy where each was taken, zero elsewhere; condition: none
/// errors   ValueError: shapes that do not fit; TypeError: dtypes that do not
/// source   tf.where (compat.v1, of three arguments)
Tensor where(const Operand& condition, const Operand& x, const Operand& y,
             SelectOptions options = {}, Site site = Site::current());

/// The same with all three broadcast to each other. (tf.where_v2)
Tensor where_v2(const Operand& condition, const Operand& x, const Operand& y,
                SelectOptions options = {}, Site site = Site::current());

}  // namespace towerflow
