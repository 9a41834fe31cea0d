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

/// Makes a constant from a number, a string, nested braces, a vector or an Array.
///
/// shapes   `shape`; if it has more elements than the value, the last one is repeated
/// dtypes   integers become int32 (int64 if they do not fit), floating numbers float32; an Array
///          keeps its dtype unless another is given, to which it is cast
/// grads    none: a constant depends on nothing
/// errors   TypeError: a value that `dtype` cannot represent, a tensor; ValueError: ragged braces,
///          more elements than `shape` has
/// source   tf.constant
Tensor constant(const Operand& value, ConstantOptions options = {}, Site site = Site::current());

}  // namespace towerflow
