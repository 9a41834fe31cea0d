#pragma once

#include <optional>

#include "core/graph/operand.h"
#include "train/optimizer.h"

namespace towerflow::models {

struct SummaryOptions {
  std::optional<Operand> learning_rate{};  ///< shown as `learning_rate` where given
  /// Of the average gradients (`conv1/weights/gradients`) and of the variables (`conv1/weights_1`),
  /// as the program makes them that the MNIST program follows: CIFAR-10 on many GPUs.
  bool histograms = true;
};

/// One serialized summary of a step, for a `summary::FileWriter`: `summaries` and those of
/// `options`. To be called after the training is built, in the same graph.
Tensor merged_summaries(std::vector<Tensor> summaries, const std::vector<GradAndVar>& grads,
                        const SummaryOptions& options = {});

}  // namespace towerflow::models
