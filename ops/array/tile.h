#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct TileOptions {
  std::string name{};
};

/// Repeats a tensor `multiples[i]` times along each dimension i.
///
/// shapes   input [d0, ..], multiples [r] (int32 or int64) -> [d0 * m0, ..]     dtypes  all
/// grads    input: dy summed over the repetitions; multiples: none
/// errors   ValueError: a number of multiples other than the rank, a negative one
/// source   tf.tile
Tensor tile(const Operand& input, const Operand& multiples, TileOptions options = {},
            Site site = Site::current());

}  // namespace towerflow
