#pragma once

#include <vector>

#include "train/optimizer.h"

namespace towerflow::types {

/// How the gradients of a variable in several towers are combined. With every policy they are added
/// in tower order, and a gradient absent in every tower stays absent: `apply_gradients` then leaves
/// the variable and its slots unchanged. An absent gradient is not a gradient of zeros.
enum class AveragePolicy {
  mean_over_present,  ///< the mean of the gradients that are present
  mean_over_all,      ///< their sum divided by the number of towers: absent ones count as zeros
  sum,                ///< their sum
  /// sum(w[i] g[i]) / sum(w[i]) over those present. A gradient of weight 0, as of an empty batch,
  /// counts nothing even if it is NaN; if all weights are 0 the average is zero
  weighted_mean,
  require_all,  ///< the mean; an error if a gradient is absent in some towers
};

struct AverageOptions {
  AveragePolicy policy = AveragePolicy::mean_over_present;
  /// For weighted_mean: one weight per tower, such as its number of examples.
  std::vector<Tensor> weights{};
};

}  // namespace towerflow::types

namespace towerflow {

/// Averages the gradients of each variable over the towers, for `apply_gradients`.
///
/// Each entry of `tower_grads` is the result of `compute_gradients` in one tower: the same
/// variables in the same order. Dense gradients produce the same nodes as `average_gradients` of
/// the source (ExpandDims per tower, Concat, Mean), or Sum instead of Mean, preceded by a
/// multiplication by the weight and followed by a division. Slices remain slices: they are
/// concatenated, multiplied and divided likewise. A mixture of both becomes dense. A plan computes
/// any of these in the op that updates the variable. Weights that are only known when the graph
/// runs cost another pass over each gradient, which leaves out those of weight 0.
///
/// shapes   gradients: as the variable; weights: []
/// dtypes   weights: any numbers, cast to the gradients' dtype
/// errors   ValueError: no towers; towers with different variables; a number of weights that does
///          not match the towers, or weights for another policy; gradients absent in some towers
///          (require_all), listing each variable and the towers that lack its gradient
/// source   cifar10_multi_gpu_train.average_gradients, extended to skip None
std::vector<GradAndVar> average_gradients(const std::vector<std::vector<GradAndVar>>& tower_grads,
                                          AverageOptions options = {}, Site site = Site::current());

}  // namespace towerflow
