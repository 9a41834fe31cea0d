#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/gradient.h"

namespace towerflow::types {

/// Appends the nodes of the gradient of `op` with respect to each of its inputs, given the gradient
/// of each of its outputs (absent where nothing flows). Returns one entry per input.
using GradientRule = std::function<std::vector<OptionalGradient>(
    const Operation& op, const std::vector<OptionalGradient>& dys)>;

/// Why an op has no gradient, in words a user reads: "the index of a maximum is an integer".
struct NoGradient {
  std::string reason;
  /// Whether TensorFlow says so too. Where it has forgotten the op, gradients that reach it are a
  /// LookupError, there and here.
  bool declared = true;
};

/// How an op passes gradients on, or why it does not.
using OpGradient = std::variant<NoGradient, GradientRule>;

}  // namespace towerflow::types
