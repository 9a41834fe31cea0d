#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct PlaceholderOptions {
  Shape shape = Shape::unknown();
  std::string name{};
};

/// A tensor whose value is given when the graph runs: `sess.run(y, {{x, value}})`.
///
/// shapes   `shape`, a value must be compatible with it     dtypes  all
/// grads    none: nothing lies behind it
/// errors   InvalidArgumentError when it is run without being fed
/// source   tf.placeholder
Tensor placeholder(DType dtype, PlaceholderOptions options = {}, Site site = Site::current());

}  // namespace towerflow
