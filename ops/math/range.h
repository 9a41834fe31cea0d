#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct RangeOptions {
  ByName by_name = ByName();
  std::string name{};
};

/// Returns start, start + delta, .. up to but not including limit.
///
/// shapes   start [], limit [], delta [] -> [n]; n is known if the three are constants
/// dtypes   int32, int64, float32, float64: that of the first tensor among them, else the widest
/// grads    none, as in TensorFlow
/// errors   ValueError, at run time InvalidArgumentError: delta 0, or limit on the wrong side of
///          start
/// source   tf.range
Tensor range(const Operand& start, const Operand& limit, const Operand& delta,
             RangeOptions options = {}, Site site = Site::current());
/// Counts from 0 in steps of 1.
Tensor range(const Operand& limit, RangeOptions options = {}, Site site = Site::current());

}  // namespace towerflow
