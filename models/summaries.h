#pragma once

#include <optional>

#include "core/graph/operand.h"
#include "train/optimizer.h"

namespace towerflow::models {

struct SummaryOptions {
  std::optional<Operand> learning_rate{};  ///< summarized as `learning_rate` if given
  /// Whether to add histograms of the averaged gradients (`conv1/weights/gradients`) and of the
  /// variables (`conv1/weights_1`), as in TensorFlow's multi-GPU CIFAR-10 program, on which the
  /// MNIST program is based.
  bool histograms = true;
};

/// Merges `summaries` and those of `options` into one serialized summary of a step, for a
/// `summary::FileWriter`. Must be called after the training graph is built, in the same graph.
Tensor merged_summaries(std::vector<Tensor> summaries, const std::vector<GradAndVar>& grads,
                        const SummaryOptions& options = {});

}  // namespace towerflow::models
