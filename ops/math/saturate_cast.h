#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SaturateCastOptions {
  std::string name{};
};

/// Converts numbers to another dtype; those outside its range become its lowest or highest number.
///
/// shapes   value [...] -> [...]      dtypes  numbers to numbers
/// grads    value: dy cast back where it is within the range, between floating dtypes only
/// errors   TypeError: strings, bools
/// source   tf.saturate_cast
Tensor saturate_cast(const Operand& value, DType dtype, SaturateCastOptions options = {},
                     Site site = Site::current());

}  // namespace towerflow
