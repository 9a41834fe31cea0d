#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct DropoutOptions {
  std::optional<Operand> noise_shape{};  ///< along dimensions of size 1, all or nothing is dropped
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Sets each element to zero with probability 1 - `keep_prob` and divides the others by
/// `keep_prob`, which preserves the expectation of sums. Every run draws again.
///
/// shapes   x [..]; keep_prob []; noise_shape one that broadcasts to that of x -> as x
/// dtypes   x floating; keep_prob as x
/// grads    x: dy where x was kept, scaled alike; keep_prob: through the scale
/// errors   ValueError: a number outside (0, 1], a keep_prob that is not a scalar, integers
/// source   tf.nn.dropout (compat.v1); a `rate` is 1 - keep_prob
Tensor dropout(const Operand& x, const ScalarOperand& keep_prob, DropoutOptions options = {},
               Site site = Site::current());

}  // namespace towerflow::nn
