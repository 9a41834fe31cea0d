#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct TileOptions {
  std::string name{};
};

/// The tensor repeated `multiples[i]` times along each dimension i.
///
/// shapes   input [d0, ..], multiples [r] (int32 or int64) -> [d0 * m0, ..]     dtypes  all
/// grads    input: dy summed over the repetitions; multiples: none
/// errors   ValueError: not one multiple a dimension, a negative one
/// source   tf.tile
Tensor tile(const Operand& input, const Operand& multiples, TileOptions options = {},
            Site site = Site::current());

}  // namespace towerflow
