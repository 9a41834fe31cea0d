#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn::types {

/// The largest elements of rows, and their places in the rows.
struct TopK {
  Tensor values;
  Tensor indices;
};

}  // namespace towerflow::nn::types

namespace towerflow::nn {

struct TopKOptions {
  ByName by_name = ByName();
  bool sorted = true;  ///< no effect: the elements are always in descending order
  DType index_type = DType::int32;
  std::string name{};
};

/// Returns the k largest elements of each row (the last dimension) in descending order, and their
/// places. Of equal elements the first ones are taken, in their order; NaN counts as less than all
/// numbers.
///
/// shapes   input [.., n], k [] (int32, int64) with k <= n -> [.., k] twice
/// dtypes   input all numbers; indices int32, int64
/// grads    input: dy of the values at their places, zeros elsewhere; k: none
/// errors   ValueError: input is a scalar, k is no scalar, negative or larger than n; TypeError:
///          bools and strings; at run time InvalidArgumentError: k
/// source   tf.nn.top_k
TopK top_k(const Operand& input, const ScalarOperand& k, TopKOptions options = {},
           Site site = Site::current());
/// The largest element of each row.
inline TopK top_k(const Operand& input, TopKOptions options = {}, Site site = Site::current()) {
  return top_k(input, ScalarOperand(1, site), std::move(options), site);
}

}  // namespace towerflow::nn
