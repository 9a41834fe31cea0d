#pragma once

#include "core/graph/operand.h"

namespace towerflow {

struct EnsureShapeOptions {
  std::string name{};
};

/// Returns `x` with a static shape that its value is checked against.
///
/// shapes   x [...] -> `shape`, made more precise by what is known of x     dtypes  all
/// grads    x: dy
/// errors   ValueError: the static shape of x contradicts `shape`; at run time
///          InvalidArgumentError: the value has another shape
/// source   tf.ensure_shape
Tensor ensure_shape(const Operand& x, const Shape& shape, EnsureShapeOptions options = {},
                    Site site = Site::current());

}  // namespace towerflow
