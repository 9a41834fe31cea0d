#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct GatherNdOptions {
  std::string name{};
};

/// Gathers slices of `params`: each row of k numbers in `indices` is an index into the first k
/// dimensions.
///
/// shapes   params [d0, .., dr], indices [.., k] (int32 or int64), k <= r + 1 -> [.., dk, .., dr]
/// dtypes   all
/// grads    params: IndexedSlices if indices is [n, 1], else dense, with the dy of equal indices
///          summed; indices: none
/// errors   ValueError: indices is a scalar or its rows are longer than the rank of params;
///          InvalidArgumentError at run time: an index outside params
/// source   tf.gather_nd
Tensor gather_nd(const Operand& params, const Operand& indices, GatherNdOptions options = {},
                 Site site = Site::current());

struct ScatterNdOptions {
  std::string name{};
};

/// Adds each slice of `updates` to zeros of `shape`, at the index in its row of `indices`. This is
/// the gradient of `gather_nd`.
///
/// shapes   indices [.., k] (int32 or int64), updates [.., dk, .., dr], shape [r + 1] -> shape
/// dtypes   updates all numbers
/// grads    updates: dy gathered at the indices; indices, shape: none
/// errors   ValueError: indices and updates that do not match; InvalidArgumentError at run time: an
///          index outside shape
/// source   tf.scatter_nd
Tensor scatter_nd(const Operand& indices, const Operand& updates, const Operand& shape,
                  ScatterNdOptions options = {}, Site site = Site::current());

}  // namespace towerflow
