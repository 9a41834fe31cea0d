#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct BroadcastOptions {
  std::string name{};
};

/// The tensor repeated to a shape that it broadcasts to.
///
/// shapes   input [..], shape [r] (int32 or int64) -> sizes in `shape`     dtypes  all
/// grads    input: dy summed over what was repeated; shape: none
/// errors   ValueError: the input does not broadcast to the shape
/// source   tf.broadcast_to
Tensor broadcast_to(const Operand& input, const Operand& shape, BroadcastOptions options = {},
                    Site site = Site::current());

}  // namespace towerflow
