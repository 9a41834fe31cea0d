#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct BiasAddOptions {
  std::string data_format{};  ///< "NHWC" if empty, or "NCHW"; any "N...C" or "NC..." is accepted
  std::string name{};
};

/// Adds a bias to the channels of `value`.
///
/// shapes   value [N, .., C] (NCHW: [N, C, ..]), bias [C] -> as value
/// dtypes   real numbers
/// grads    value: dy; bias: the sum of dy over all but the channels
/// errors   ValueError: value of rank < 2, bias not a vector of C elements, unknown format
/// source   tf.nn.bias_add
Tensor bias_add(const Operand& value, const Operand& bias, BiasAddOptions options = {},
                Site site = Site::current());

}  // namespace towerflow::nn
