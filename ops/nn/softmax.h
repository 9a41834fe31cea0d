#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct SoftmaxOptions {
  ByName by_name = ByName();
  std::optional<int> axis{};  ///< the last one if absent; negative ones count from the end
  std::string name{};
  std::optional<int> dim{};  ///< older name of `axis`
};

/// exp(logits) / sum(exp(logits)) along an axis. If it is not the last one, the tensor is
/// transposed before and after.
///
/// shapes   logits [.., C, ..] -> as logits     dtypes  float32 (simd), float64 (reference)
/// grads    logits: (dy - sum(dy y)) y
/// errors   ValueError: a scalar, an axis given under its older name too; InvalidArgumentError:
/// axis
///          out of range; TypeError: another axis than -1 of a tensor of unknown rank
/// source   tf.nn.softmax
Tensor softmax(const Operand& logits, SoftmaxOptions options = {}, Site site = Site::current());

/// logits - log(sum(exp(logits))) along an axis, like `softmax`.
///
/// shapes   logits [.., C, ..] -> as logits     dtypes  float32 (simd), float64 (reference)
/// grads    logits: dy - exp(y) sum(dy)
/// errors   as softmax
/// source   tf.nn.log_softmax
Tensor log_softmax(const Operand& logits, SoftmaxOptions options = {}, Site site = Site::current());

/// With the axis second, as in TensorFlow.
inline Tensor softmax(const Operand& logits, int axis, SoftmaxOptions options = {},
                      Site site = Site::current()) {
  options.axis = axis;
  return softmax(logits, std::move(options), site);
}
inline Tensor log_softmax(const Operand& logits, int axis, SoftmaxOptions options = {},
                          Site site = Site::current()) {
  options.axis = axis;
  return log_softmax(logits, std::move(options), site);
}

}  // namespace towerflow::nn
