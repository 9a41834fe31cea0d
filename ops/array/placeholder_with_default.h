#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct PlaceholderWithDefaultOptions {
  std::string name{};
};

/// A tensor whose value may be given when the graph runs; `input` where it is not.
///
/// shapes   `shape`, with which input and fed values must be compatible     dtypes  all
/// grads    input: dy
/// errors   ValueError: the shape of `input` contradicts `shape`
/// source   tf.placeholder_with_default
Tensor placeholder_with_default(const Operand& input, const Shape& shape,
                                PlaceholderWithDefaultOptions options = {},
                                Site site = Site::current());

}  // namespace towerflow
