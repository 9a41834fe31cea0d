#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct PlaceholderWithDefaultOptions {
  std::string name{};
};

/// Makes a tensor that may be fed when the graph runs and is `input` otherwise.
///
/// shapes   `shape`, which input and fed values must be compatible with     dtypes  all
/// grads    input: dy
/// errors   ValueError: the shape of `input` contradicts `shape`
/// source   tf.placeholder_with_default
Tensor placeholder_with_default(const Operand& input, const Shape& shape,
                                PlaceholderWithDefaultOptions options = {},
                                Site site = Site::current());

}  // namespace towerflow
