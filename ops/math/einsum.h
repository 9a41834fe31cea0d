#pragma once

#include <string>
#include <string_view>

#include "ops/operand_list.h"

namespace towerflow {

struct EinsumOptions {
  std::string name{};
};

/// Sums of products over named axes: `einsum("bij,bjk->bik", {x, y})`. Each letter names an axis of
/// an operand; letters that the result leaves out are summed over, a letter twice in one operand
/// takes its diagonal, twice in the result puts values on a diagonal. "..." stands for any number
/// of axes, which broadcast. Without "->", the result has the letters that occur once, in
/// alphabetical order. More than two operands are multiplied from left to right, each product with
/// an op of its own.
///
/// shapes   inputs [..] -> sizes by letter
/// dtypes   float32, float64, int32, int64, the same for all inputs
/// grads    inputs
/// errors   ValueError: an equation that cannot be read or does not fit the operands, sizes that
///          differ
/// source   tf.einsum
Tensor einsum(std::string_view equation, const OperandList& inputs, EinsumOptions options = {},
              Site site = Site::current());

}  // namespace towerflow
