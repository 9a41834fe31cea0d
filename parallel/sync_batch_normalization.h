#pragma once

#include <vector>

#include "layers/normalization.h"
#include "parallel/lockstep.h"

namespace towerflow::parallel {

/// Batch normalization by the moments of all towers' batches taken as one: values, gradients and
/// moving averages are those of `tf::layers::batch_normalization` in one tower with all examples.
///
/// Each tower computes the mean and variance of its batch. The device of the caller's scope joins
/// them, including the variance between the towers, and every tower normalizes by the result. Per
/// step and tower that is one copy of 2 n numbers in either direction, and as many for gradients.
/// Gradients flow through the joined moments into every tower. Towers may have batches of different
/// sizes, also of none.
///
/// The names of variables are those of the layer, whose variables it finds and makes: a network
/// built with one is evaluated with the other. The updates of the moving averages, once for all
/// towers, are listed in UPDATE_OPS outside the towers' scopes, so that no policy for the towers'
/// own updates applies to them.
///
/// shapes   inputs: one [..] per tower -> as inputs; variables [n], the size of `axis`
/// dtypes   float32, float64
/// grads    all inputs, gamma, beta
/// errors   ValueError: a number of inputs that is not that of the towers; else those of
///          `batch_normalization`
/// source   tf.keras.layers.experimental.SyncBatchNormalization
std::vector<Tensor> sync_batch_normalization(const Lockstep& towers,
                                             const std::vector<Tensor>& inputs,
                                             layers::BatchNormalizationLayerOptions options = {},
                                             Site site = Site::current());

}  // namespace towerflow::parallel
