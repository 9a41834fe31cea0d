#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct SigmoidCrossEntropyOptions {
  Operand labels = Array();  ///< probabilities; must be given
  Operand logits = Array();  ///< before the sigmoid; must be given
  std::string name{};
};

/// The cross entropy of `labels` under sigmoid(logits), for classes that do not exclude each other.
///
///   loss = max(x, 0) - x * z + log(1 + exp(-|x|)),  x the logits, z the labels
///
/// Consists of TensorFlow's elementwise ops; numerically stable for large logits.
///
/// shapes   labels, logits [...] equal -> [...]
/// dtypes   floating, both the same
/// grads    logits: dy (sigmoid(logits) - labels); labels: -dy logits
/// errors   ValueError: labels or logits missing, shapes that differ
/// source   tf.nn.sigmoid_cross_entropy_with_logits
Tensor sigmoid_cross_entropy_with_logits(SigmoidCrossEntropyOptions options,
                                         Site site = Site::current());

}  // namespace towerflow::nn
