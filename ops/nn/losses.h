#pragma once

#include "ops/nn/weighted_loss.h"

namespace towerflow::losses {

/// Losses of a batch. There is one for each element (for cross entropies of classes, each row);
/// `compute_weighted_loss` weights them, reduces them to one number and adds it to a collection.
///
/// shapes   labels and predictions (or logits) equal -> []; with Reduction::NONE, one for each loss
/// dtypes   numbers, which become float32; the cross entropies have the dtype of logits
/// grads    labels, predictions or logits, weights, except as noted
/// errors   ValueError: shapes that differ, weights that do not fit; also those of
///          compute_weighted_loss
/// source   tf.losses.*

/// |predictions - labels|
Tensor absolute_difference(const Operand& labels, const Operand& predictions,
                           LossOptions options = {}, Site site = Site::current());

/// (predictions - labels)^2
Tensor mean_squared_error(const Operand& labels, const Operand& predictions,
                          LossOptions options = {}, Site site = Site::current());

struct PairwiseLossOptions {
  Operand weights = 1.0;
  std::optional<std::string> scope{};
  std::optional<std::string> loss_collection = GraphKeys::LOSSES;
};
/// The mean, for each element of the first dimension, of ((a - b) - (c - d))^2 over pairs of its
/// elements, where a and c are predictions and b and d their labels; then the weighted sum.
Tensor mean_pairwise_squared_error(const Operand& labels, const Operand& predictions,
                                   PairwiseLossOptions options = {}, Site site = Site::current());

/// 1 - sum of predictions * labels along `axis`, which keeps size 1. Both must have length 1 along
/// it.
Tensor cosine_distance(const Operand& labels, const Operand& predictions, int axis,
                       LossOptions options = {}, Site site = Site::current());

/// max(0, 1 - logits (2 labels - 1)), labels 0 or 1
Tensor hinge_loss(const Operand& labels, const Operand& logits, LossOptions options = {},
                  Site site = Site::current());

struct HuberLossOptions {
  Operand weights = 1.0;
  double delta = 1.0;  ///< the largest error for which the loss is quadratic
  std::optional<std::string> scope{};
  std::optional<std::string> loss_collection = GraphKeys::LOSSES;
  Reduction reduction = Reduction::SUM_BY_NONZERO_WEIGHTS;
};
/// e^2 / 2 for errors e = |predictions - labels| up to delta, then delta e - delta^2 / 2
Tensor huber_loss(const Operand& labels, const Operand& predictions, HuberLossOptions options = {},
                  Site site = Site::current());

struct LogLossOptions {
  Operand weights = 1.0;
  double epsilon = 1e-7;  ///< keeps logarithms finite
  std::optional<std::string> scope{};
  std::optional<std::string> loss_collection = GraphKeys::LOSSES;
  Reduction reduction = Reduction::SUM_BY_NONZERO_WEIGHTS;
};
/// -labels log(predictions + epsilon) - (1 - labels) log(1 - predictions + epsilon)
Tensor log_loss(const Operand& labels, const Operand& predictions, LogLossOptions options = {},
                Site site = Site::current());

struct CrossEntropyLossOptions {
  Operand weights = 1.0;
  double label_smoothing = 0;  ///< how far labels move towards the uniform distribution, 0 .. 1
  std::optional<std::string> scope{};
  std::optional<std::string> loss_collection = GraphKeys::LOSSES;
  Reduction reduction = Reduction::SUM_BY_NONZERO_WEIGHTS;
};
/// nn::sigmoid_cross_entropy_with_logits; smoothed labels move towards 1/2.
Tensor sigmoid_cross_entropy(const Operand& multi_class_labels, const Operand& logits,
                             CrossEntropyLossOptions options = {}, Site site = Site::current());

/// nn::softmax_cross_entropy_with_logits: a loss for each row; smoothed labels move towards
/// 1 / classes. No gradient flows into the labels.
Tensor softmax_cross_entropy(const Operand& onehot_labels, const Operand& logits,
                             CrossEntropyLossOptions options = {}, Site site = Site::current());

/// nn::sparse_softmax_cross_entropy_with_logits: a loss for each label. Drops an extra last
/// dimension of size 1 from labels, logits or weights.
Tensor sparse_softmax_cross_entropy(const Operand& labels, const Operand& logits,
                                    LossOptions options = {}, Site site = Site::current());

}  // namespace towerflow::losses
