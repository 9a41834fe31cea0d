#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct RollOptions {
  std::string name{};
};

/// Shifts elements along axes, cyclically: those moved over the end come in at the beginning.
/// Shifts of an axis that is given repeatedly add up.
///
/// shapes   input [..], shift [] or [n], axis as shift -> as input
/// dtypes   input all; shift and axis int32, int64
/// grads    input: dy shifted back; shift, axis: none
/// errors   ValueError: a scalar, shift and axis that do not match; TypeError: dtypes; at run time
///          InvalidArgumentError: axis out of range
/// source   tf.roll
Tensor roll(const Operand& input, const Operand& shift, const Operand& axis,
            RollOptions options = {}, Site site = Site::current());

}  // namespace towerflow
