#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/operand.h"

namespace towerflow::nn::types {

/// Mean and variance of a tensor along some of its dimensions.
struct Moments {
  Tensor mean;
  Tensor variance;
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

struct MomentsOptions {
  std::string name{};
  std::optional<bool> keep_dims{};  ///< older name of `keepdims`
  std::optional<bool> keepdims{};   ///< whether reduced dimensions stay, with size 1
};

/// Returns the mean and the variance: the mean squared distance from the mean, divided by n, not by
/// n - 1.
///
/// shapes   x [d0, ..] -> without `axes`, or with size 1 in their place     dtypes  floating
/// grads    x; that of the variance bypasses the mean, whose contribution is zero
/// errors   ValueError: an axis out of range
/// source   tf.nn.moments
Moments moments(const Operand& x, const std::vector<int>& axes, MomentsOptions options = {},
                Site site = Site::current());

struct BatchNormalizationOptions {
  std::string name{};
};

/// Computes scale * (x - mean) / sqrt(variance + variance_epsilon) + offset as TensorFlow does:
/// x * inv + (offset - mean * inv) with inv = scale / sqrt(variance + variance_epsilon).
///
/// shapes   x [.., C]; the others [C] or anything else that broadcasts -> as x
/// dtypes   floating, all the same
/// grads    those of the ops it consists of
/// source   tf.nn.batch_normalization
Tensor batch_normalization(const Operand& x, const Operand& mean, const Operand& variance,
                           const std::optional<Operand>& offset,
                           const std::optional<Operand>& scale, const Operand& variance_epsilon,
                           BatchNormalizationOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
