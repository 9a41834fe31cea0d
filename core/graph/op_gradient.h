#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/gradient.h"

namespace towerflow::types {

/// Appends the nodes of the gradient of `op` with respect to each of its inputs, given the gradient
/// of each of its outputs (absent if it received none). Returns one entry per input.
using GradientRule = std::function<std::vector<OptionalGradient>(
    const Operation& op, const std::vector<OptionalGradient>& dys)>;

/// Why an op has no gradient, in words for the user: "the index of a maximum is an integer".
struct NoGradient {
  std::string reason;
  /// Whether TensorFlow declares this too. If not, a gradient that reaches the op is a LookupError,
  /// in TensorFlow and here.
  bool declared = true;
};

/// How an op propagates gradients, or why it does not.
using OpGradient = std::variant<NoGradient, GradientRule>;

}  // namespace towerflow::types
