#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct ConstantOptions {
  std::optional<DType> dtype{};  ///< that of the value when absent
  std::optional<Shape> shape{};  ///< that of the value when absent
  std::string name{};
};

/// A value known when the graph is built: a number, a string, nested braces, a vector or an Array.
///
/// shapes   `shape`; where it has more elements than the value, the last one is repeated
/// dtypes   integers become int32 (int64 when they do not fit), floating numbers float32; an Array
///          keeps its dtype, and is cast when another is asked for
/// grads    none: a constant depends on nothing
/// errors   TypeError: a value that `dtype` cannot hold, a tensor; ValueError: ragged braces, more
///          elements than `shape` has
/// source   tf.constant
Tensor constant(const Operand& value, ConstantOptions options = {}, Site site = Site::current());

}  // namespace towerflow
