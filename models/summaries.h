#pragma once

#include <optional>

#include "models/mnist.h"

namespace towerflow::models::mnist {

struct SummaryOptions {
  std::optional<Operand> learning_rate{};  ///< shown as `learning_rate` where given
  /// Of the average gradients (`conv1/weights/gradients`) and of the variables (`conv1/weights_1`),
  /// as the program makes them that the MNIST program follows: CIFAR-10 on many GPUs.
  bool histograms = true;
};

/// One serialized summary of a step, for a `summary::FileWriter`: the last tower's, which it made
/// of its queues and with `NetOptions::tb_logging` of its losses, and those of `options`. To be
/// called after `build_towers`, in the same graph.
Tensor merged_summaries(const Towers& towers, const SummaryOptions& options = {});

}  // namespace towerflow::models::mnist
