#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct OneHotOptions {
  std::optional<Operand> on_value{};   ///< at the place of the index; 1 when absent
  std::optional<Operand> off_value{};  ///< elsewhere; 0 when absent
  int axis = -1;                       ///< where the new dimension goes, -1 for the end
  std::optional<DType> dtype{};        ///< that of the values; float32 when nothing says another
  std::string name{};
};

/// Rows that are `on_value` at one place and `off_value` elsewhere. An index outside [0, depth)
/// gives a row of `off_value`.
///
/// shapes   indices [..], depth, values [] -> [.., depth, ..]
/// dtypes   indices uint8, int8, int32, int64; depth int32; values all, the same
/// grads    none, as in TensorFlow
/// errors   TypeError: dtypes that differ or do not fit; ValueError: a depth that is negative or no
///          scalar; in a run InvalidArgumentError: axis out of range
/// source   tf.one_hot
Tensor one_hot(const Operand& indices, const ScalarOperand& depth, OneHotOptions options = {},
               Site site = Site::current());

}  // namespace towerflow
