#pragma once

#include "ops/array/view.h"
#include "ops/operand_list.h"

namespace towerflow {

/// Stacks tensors of one shape, known when the graph is built, along a new first dimension: an
/// ExpandDims for each and a ParallelConcat. As in TensorFlow, no gradient goes through it.
///
/// shapes   n values [d0, ..] -> [n, d0, ..]     dtypes  all, the same for all values
/// grads    none: a gradient that reaches it is a LookupError
/// errors   ValueError: no values, a shape that is not known, shapes that differ; TypeError: dtypes
///          differ
/// source   tf.parallel_stack
Tensor parallel_stack(const OperandList& values, NameOption options = {},
                      Site site = Site::current());

}  // namespace towerflow
