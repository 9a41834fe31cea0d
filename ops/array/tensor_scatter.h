#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct TensorScatterOptions {
  std::string name{};
};

/// Returns `tensor` with slices replaced: each row of k numbers in `indices` is an index into its
/// first k dimensions. Of updates with equal indices the last one wins.
///
/// shapes   tensor [d0, .., dr], indices [.., k] (int32 or int64), updates [.., dk, .., dr] -> as
///          tensor
/// dtypes   all; add and sub all numbers
/// grads    tensor: dy, for an update with zeros at the indices; updates: dy gathered at the
///          indices; indices: none
/// errors   ValueError: shapes that do not match; at run time InvalidArgumentError: an index
///          outside tensor
/// source   tf.tensor_scatter_nd_update
Tensor tensor_scatter_nd_update(const Operand& tensor, const Operand& indices,
                                const Operand& updates, TensorScatterOptions options = {},
                                Site site = Site::current());
/// Adds the updates, those of equal indices one after another. (tf.tensor_scatter_nd_add)
Tensor tensor_scatter_nd_add(const Operand& tensor, const Operand& indices, const Operand& updates,
                             TensorScatterOptions options = {}, Site site = Site::current());
/// Subtracts the updates. (tf.tensor_scatter_nd_sub)
Tensor tensor_scatter_nd_sub(const Operand& tensor, const Operand& indices, const Operand& updates,
                             TensorScatterOptions options = {}, Site site = Site::current());

}  // namespace towerflow
