#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct RangeOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// start, start + delta, .. up to, but without, limit.
///
/// shapes   start [], limit [], delta [] -> [n]; n is known where the three are constants
/// dtypes   int32, int64, float32, float64: that of the first tensor among them, else the widest
/// grads    none: a range of integers, or of numbers that no program differentiates by
/// errors   ValueError, in a run InvalidArgumentError: delta 0, or limit on the wrong side of start
/// source   tf.range
Tensor range(const Operand& start, const Operand& limit, const Operand& delta,
             RangeOptions options = {}, Site site = Site::current());
/// From 0 by 1.
Tensor range(const Operand& limit, RangeOptions options = {}, Site site = Site::current());

}  // namespace towerflow
