#pragma once

#include <vector>

#include "train/optimizer.h"

namespace towerflow::types {

/// What becomes of the gradients that a variable has in several towers. Whatever the policy, they
/// are added in tower order, and a gradient absent in every tower stays absent: `apply_gradients`
/// then leaves the variable and its slots alone. A gradient that is absent is not one of zeros.
enum class AveragePolicy {
  mean_over_present,  ///< the mean of those that are there
  mean_over_all,      ///< their sum divided by the number of towers: an absent one counts as zeros
  sum,                ///< their sum
  /// sum(w[i] g[i]) / sum(w[i]) over those that are there; NaN where the weights add up to zero
  weighted_mean,
  require_all,  ///< the mean, and an error when a variable lacks one in some towers
};

struct AverageOptions {
  AveragePolicy policy = AveragePolicy::mean_over_present;
  /// For weighted_mean: a number for each tower, such as its examples.
  std::vector<Tensor> weights{};
};

}  // namespace towerflow::types

namespace towerflow {

/// The average gradient of each variable over the towers, for `apply_gradients`.
///
/// Each entry of `tower_grads` is what `compute_gradients` gave in one tower: the same variables in
/// the same order. Dense gradients make the nodes of the source text's `average_gradients`
/// (ExpandDims per tower, Concat, Mean) or Sum in place of Mean, after a multiplication by the
/// weight, before a division. Slices stay slices: side by side, multiplied and divided likewise. A
/// mixture of both becomes dense. A plan computes any of it in the op that updates the variable.
///
/// shapes   gradients as the variable; weights []
/// dtypes   weights: any numbers, cast to the gradients' dtype
/// errors   ValueError: no towers, towers that list other variables, weights that do not fit the
///          towers or are missing or not asked for; gradients absent in some towers (require_all),
///          with each variable and the towers that lack it
/// source   cifar10_multi_gpu_train.average_gradients, made to skip None
std::vector<GradAndVar> average_gradients(const std::vector<std::vector<GradAndVar>>& tower_grads,
                                          AverageOptions options = {}, Site site = Site::current());

}  // namespace towerflow
