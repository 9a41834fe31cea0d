#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct OneHotOptions {
  std::optional<Operand> on_value{};   ///< value at the index; 1 if absent
  std::optional<Operand> off_value{};  ///< value elsewhere; 0 if absent
  int axis = -1;                       ///< position of the new dimension, -1 for the end
  std::optional<DType> dtype{};        ///< that of the given values, else float32
  std::string name{};
};

/// Returns rows that are `on_value` at one position and `off_value` elsewhere. An index outside
/// [0, depth) gives a row of `off_value`.
///
/// shapes   indices [..], depth, values [] -> [.., depth, ..]
/// dtypes   indices uint8, int8, int32, int64; depth int32; values all, the same
/// grads    none, as in TensorFlow
/// errors   TypeError: dtypes that differ or are not allowed; ValueError: a negative or non-scalar
///          depth; InvalidArgumentError at run time: axis out of range
/// source   tf.one_hot
Tensor one_hot(const Operand& indices, const ScalarOperand& depth, OneHotOptions options = {},
               Site site = Site::current());

}  // namespace towerflow
