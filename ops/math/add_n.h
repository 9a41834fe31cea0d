#pragma once

#include <optional>
#include <string>

#include "ops/operand_list.h"

namespace towerflow {

struct AddNOptions {
  std::string name{};
};

/// Adds tensors of the same shape, in the order given. A single tensor is returned as is, or
/// through an Identity op if a name is given, as in TensorFlow.
///
/// shapes   n inputs [d0, ..] -> [d0, ..]     dtypes  all numbers, the same for all inputs
/// grads    inputs: dy
/// errors   ValueError: no input, shapes that differ; TypeError: dtypes that differ
/// source   tf.add_n
Tensor add_n(const OperandList& inputs, AddNOptions options = {}, Site site = Site::current());

struct AccumulateNOptions {
  ByName by_name = ByName();
  std::optional<DType> tensor_dtype{};  ///< that the inputs must have
  std::string name{};
};

/// Adds tensors with `add_n`, after checking dtype and shape.
///
/// errors   ValueError: no input, slices, dtypes or shapes that differ; TypeError: another dtype
///          than `tensor_dtype`
/// source   tf.accumulate_n
Tensor accumulate_n(const OperandList& inputs, AccumulateNOptions options = {},
                    Site site = Site::current());

}  // namespace towerflow
