#pragma once

#include <string>

#include "ops/operand_list.h"

namespace towerflow {

struct ConcatOptions {
  std::string name{};
};

/// Concatenates tensors along `axis`; a single one becomes an Identity, as in TensorFlow.
///
/// shapes   values [.., ni, ..] of one rank -> [.., sum ni, ..]; axis [], from -rank to rank-1
/// dtypes   all, the same for all values
/// grads    values: slices of dy; axis: none
/// errors   ValueError: ranks or other sizes differ, axis out of range; TypeError: dtypes differ
/// source   tf.concat
Tensor concat(const OperandList& values, const ScalarOperand& axis, ConcatOptions options = {},
              Site site = Site::current());

}  // namespace towerflow
