#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct SoftmaxCrossEntropyOptions {
  Operand labels = Array();  ///< a probability for each class; must be given
  Operand logits = Array();  ///< before the softmax; must be given
  std::string name{};
  std::optional<int> axis{};  ///< of the classes; the last one if absent
  std::optional<int> dim{};   ///< older name of `axis`
};

/// The cross entropy of the probabilities `labels` under softmax(logits). Softmax and logarithm are
/// computed together, which is numerically stable for large logits.
///
///   loss[i] = sum over j of labels[i, j] (log(sum over k of exp(logits[i, k])) - logits[i, j])
///
/// shapes   labels, logits [N.., C] equal -> [N..]; with an axis [.., C, ..] -> without that
/// dimension dtypes   float32 (simd), float64 (reference); labels are cast to the dtype of logits
/// grads    logits: dy (softmax(logits) - labels); labels: -dy log_softmax(logits). Second
///          derivatives include the dependence of the first gradient on labels, which TensorFlow
///          leaves out
/// errors   ValueError: labels or logits missing, shapes that differ, a negative axis other than
/// -1,
///          an axis given under its older name too
/// source   tf.nn.softmax_cross_entropy_with_logits_v2
Tensor softmax_cross_entropy_with_logits_v2(SoftmaxCrossEntropyOptions options,
                                            Site site = Site::current());

/// The same, but no gradient flows into the labels. (tf.nn.softmax_cross_entropy_with_logits)
Tensor softmax_cross_entropy_with_logits(SoftmaxCrossEntropyOptions options,
                                         Site site = Site::current());

}  // namespace towerflow::nn
