#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct InTopKOptions {
  std::string name{};
};

/// Returns whether the prediction of the target class is among the k largest of its row. Classes
/// that tie with the k-th are included. The result is false for a row with a number that is not
/// finite and for a target out of range.
///
/// shapes   predictions [N, C], targets [N], k [] -> [N] (bool)
/// dtypes   predictions float32; targets and k int32 or int64
/// grads    none: the result has dtype bool
/// errors   ValueError: ranks, N that differ; TypeError: dtypes
/// source   tf.nn.in_top_k
Tensor in_top_k(const Operand& predictions, const Operand& targets, const Operand& k,
                InTopKOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
