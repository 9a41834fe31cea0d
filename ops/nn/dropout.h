#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct DropoutOptions {
  std::optional<Operand> noise_shape{};  ///< where 1, what is dropped is dropped all along
  std::optional<std::int64_t> seed{};
  std::string name{};
};

/// Each element zero with probability 1 - `keep_prob`, else divided by `keep_prob`, so that sums
/// keep their expectation. What is dropped is drawn anew in every run.
///
/// shapes   x [..]; keep_prob []; noise_shape one that broadcasts to that of x -> as x
/// dtypes   x floating; keep_prob as x
/// grads    x: dy of what was kept, scaled alike; keep_prob: through the scale
/// errors   ValueError: a number outside (0, 1], a keep_prob that is no scalar, integers
/// source   tf.nn.dropout (compat.v1); a `rate` is 1 - keep_prob
Tensor dropout(const Operand& x, const ScalarOperand& keep_prob, DropoutOptions options = {},
               Site site = Site::current());

}  // namespace towerflow::nn
