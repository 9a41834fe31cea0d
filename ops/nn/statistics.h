#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/nn/batch_normalization.h"

namespace towerflow::nn::types {

/// Sums from which moments follow, see `normalize_moments`.
struct SufficientStatistics {
  Tensor counts;                ///< the number of elements that each sum adds
  Tensor mean_ss;               ///< sum of x - shift
  Tensor variance_ss;           ///< sum of (x - shift)^2
  std::optional<Tensor> shift;  ///< absent if there is none
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

/// Returns the mean and the variance of a tensor whose elements have weights.
///
/// shapes   x [d0, ..], frequency_weights that broadcast to x -> without `axes`, or with size 1 in
///          their place
/// dtypes   floating; weights of another dtype are cast to that of x
/// grads    those of the ops it consists of
/// errors   ValueError: an axis out of range
/// source   tf.nn.weighted_moments
Moments weighted_moments(const Operand& x, const std::vector<int>& axes,
                         const Operand& frequency_weights, MomentsOptions options = {},
                         Site site = Site::current());

struct SufficientStatisticsOptions {
  std::optional<Operand> shift{};   ///< subtracted from x, for precision if it is near the mean
  std::optional<bool> keep_dims{};  ///< older name of `keepdims`
  std::string name{};
  std::optional<bool> keepdims{};  ///< whether reduced dimensions stay, with size 1
};

/// Returns the number of elements, their sum and the sum of their squares along some dimensions.
///
/// shapes   x [d0, ..], shift that broadcasts to x -> counts []; sums without `axes`, or with size
/// 1
///          in their place
/// dtypes   floating
/// grads    those of the ops it consists of
/// errors   ValueError: an axis out of range
/// source   tf.nn.sufficient_statistics
SufficientStatistics sufficient_statistics(const Operand& x, const std::vector<int>& axes,
                                           SufficientStatisticsOptions options = {},
                                           Site site = Site::current());

struct NormalizeMomentsOptions {
  std::string name{};
};

/// Returns the mean and the variance from sufficient statistics.
///
/// shapes   counts, mean_ss, variance_ss, shift: any that broadcast; no shift: std::nullopt
/// dtypes   floating
/// grads    those of the ops it consists of
/// source   tf.nn.normalize_moments
Moments normalize_moments(const Operand& counts, const Operand& mean_ss, const Operand& variance_ss,
                          const std::optional<Operand>& shift, NormalizeMomentsOptions options = {},
                          Site site = Site::current());

}  // namespace towerflow::nn
