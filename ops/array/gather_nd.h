#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct GatherNdOptions {
  std::string name{};
};

/// The slices of `params` at the places that the rows of `indices` name: each row of k numbers is a
/// place in the first k dimensions.
///
/// shapes   params [d0, .., dr], indices [.., k] (int32 or int64), k <= r + 1 -> [.., dk, .., dr]
/// dtypes   all
/// grads    params: IndexedSlices where indices is [n, 1], else dense, the dy of equal places added
///          up; indices: none
/// errors   ValueError: indices is a scalar or has longer rows than params has dimensions; in a run
///          InvalidArgumentError: a place outside of params
/// source   tf.gather_nd
Tensor gather_nd(const Operand& params, const Operand& indices, GatherNdOptions options = {},
                 Site site = Site::current());

struct ScatterNdOptions {
  std::string name{};
};

/// Zeros of `shape` to which each slice of `updates` is added at the place that its row of
/// `indices` names: the gradient of `gather_nd`.
///
/// shapes   indices [.., k] (int32 or int64), updates [.., dk, .., dr], shape [r + 1] -> shape
/// dtypes   updates all numbers
/// grads    updates: dy at the places; indices, shape: none
/// errors   ValueError: indices and updates that do not fit; in a run InvalidArgumentError: a place
///          outside of shape
/// source   tf.scatter_nd
Tensor scatter_nd(const Operand& indices, const Operand& updates, const Operand& shape,
                  ScatterNdOptions options = {}, Site site = Site::current());

}  // namespace towerflow
