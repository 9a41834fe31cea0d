#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct LogPoissonLossOptions {
  bool compute_full_loss = false;  ///< whether to add Stirling's approximation of log(targets!)
  std::string name{};
};

/// The negative log likelihood of counts under Poisson distributions whose means have the logarithm
/// `log_input`: exp(log_input) - log_input targets, and for targets other than 0 to 1 optionally
/// targets log(targets) - targets + log(2 pi targets) / 2.
///
/// shapes   targets, log_input equal -> as log_input      dtypes  float32, float64
/// grads    targets, log_input
/// errors   ValueError: shapes that differ
/// source   tf.nn.log_poisson_loss
Tensor log_poisson_loss(const Operand& targets, const Operand& log_input,
                        LogPoissonLossOptions options = {}, Site site = Site::current());

struct WeightedCrossEntropyOptions {
  std::string name{};
};

/// Like nn::sigmoid_cross_entropy_with_logits, with the positive labels weighted by `pos_weight`:
/// -pos_weight labels log(sigmoid(logits)) - (1 - labels) log(1 - sigmoid(logits)), computed
/// without overflow.
///
/// shapes   labels, logits equal, pos_weight broadcasts to them -> as logits
/// dtypes   float32, float64
/// grads    labels, logits, pos_weight
/// errors   ValueError: shapes that differ
/// source   tf.nn.weighted_cross_entropy_with_logits
Tensor weighted_cross_entropy_with_logits(const Operand& labels, const Operand& logits,
                                          const Operand& pos_weight,
                                          WeightedCrossEntropyOptions options = {},
                                          Site site = Site::current());

}  // namespace towerflow::nn
