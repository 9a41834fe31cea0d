#pragma once

#include <vector>

#include "train/optimizer.h"

namespace towerflow {

/// The average gradient of each variable over the towers, for `apply_gradients`.
///
/// Each entry of `tower_grads` is what `compute_gradients` gave in one tower: the same variables in
/// the same order. The mean of a variable is over the towers in which its gradient is present, in
/// tower order; absent in every tower it stays absent, and `apply_gradients` leaves the variable
/// and its slots alone. Dense gradients make the nodes of the source text's `average_gradients`
/// (ExpandDims per tower, Concat, Mean); slices stay slices: side by side, divided by the number of
/// towers present.
///
/// errors   ValueError: no towers, towers that list other variables
/// source   cifar10_multi_gpu_train.average_gradients, made to skip None
std::vector<GradAndVar> average_gradients(const std::vector<std::vector<GradAndVar>>& tower_grads,
                                          Site site = Site::current());

}  // namespace towerflow
