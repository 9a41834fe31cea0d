#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct SoftmaxOptions {
  std::string name{};
};

/// exp(logits) / sum(exp(logits)) along the last dimension.
///
/// shapes   logits [.., C] -> as logits     dtypes  float32 (simd), float64 (reference)
/// grads    logits: (dy - sum(dy y)) y
/// errors   ValueError: a scalar
/// source   tf.nn.softmax
Tensor softmax(const Operand& logits, SoftmaxOptions options = {}, Site site = Site::current());

/// logits - log(sum(exp(logits))) along the last dimension.
///
/// shapes   logits [.., C] -> as logits     dtypes  float32 (simd), float64 (reference)
/// grads    logits: dy - exp(y) sum(dy)
/// errors   ValueError: a scalar
/// source   tf.nn.log_softmax
Tensor log_softmax(const Operand& logits, SoftmaxOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
