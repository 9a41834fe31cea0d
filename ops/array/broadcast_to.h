#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct BroadcastOptions {
  std::string name{};
};

/// Broadcasts a tensor to a given shape.
///
/// shapes   input [..], shape [r] (int32 or int64) -> sizes in `shape`     dtypes  all
/// grads    input: dy summed over the broadcast dimensions; shape: none
/// errors   ValueError: the input does not broadcast to the shape
/// source   tf.broadcast_to
Tensor broadcast_to(const Operand& input, const Operand& shape, BroadcastOptions options = {},
                    Site site = Site::current());

}  // namespace towerflow
