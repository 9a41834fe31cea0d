#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct SparseSoftmaxCrossEntropyOptions {
  Operand labels = Array();  ///< int32 or int64, each in 0 .. C - 1; must be given
  Operand logits = Array();  ///< before the softmax; must be given
  std::string name{};
};

/// The cross entropy of the class `labels` under softmax(logits). Softmax and logarithm are
/// computed together, which is numerically stable for large logits.
///
///   loss[i] = log(sum over j of exp(logits[i, j])) - logits[i, labels[i]]
///
/// shapes   labels [N..], logits [N.., C] -> [N..]
/// dtypes   float32 (simd), float64 (reference); labels int32, int64
/// grads    logits: dy (softmax(logits) - one_hot(labels)); labels: none, they are integers
/// errors   ValueError: labels or logits missing, shapes that do not match; TypeError: labels that
///          are not integers; at run time InvalidArgumentError: a label out of range, shapes that
///          turn out not to match
/// source   tf.nn.sparse_softmax_cross_entropy_with_logits
Tensor sparse_softmax_cross_entropy_with_logits(SparseSoftmaxCrossEntropyOptions options,
                                                Site site = Site::current());

}  // namespace towerflow::nn
