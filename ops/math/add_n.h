#pragma once

#include <string>

#include "ops/operand_list.h"

namespace towerflow {

struct AddNOptions {
  std::string name{};
};

/// The sum of tensors of one shape, added one after another. Of a single tensor it is the tensor
/// itself, or an Identity where a name is given, as in TensorFlow.
///
/// shapes   n inputs [d0, ..] -> [d0, ..]     dtypes  all numbers, the same for all inputs
/// grads    inputs: dy
/// errors   ValueError: no input, shapes that differ; TypeError: dtypes that differ
/// source   tf.add_n
Tensor add_n(const OperandList& inputs, AddNOptions options = {}, Site site = Site::current());

}  // namespace towerflow
