#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct GatherOptions {
  std::optional<int> axis{};  ///< from -rank to rank-1; absent: batch_dims
  int batch_dims = 0;         ///< leading dimensions that params and indices have in common
  std::string name{};
};

/// Gathers slices of `params` along `axis` by index.
///
/// shapes   params [.., n, ..], indices [i0, ..] -> [.., i0, .., ..]; with batch_dims, the first
///          dimensions of indices are those of params and are not repeated
/// dtypes   params all; indices int32, int64
/// grads    params: for axis 0 IndexedSlices, else dense; indices: none
/// errors   ValueError: axis or batch_dims out of range; at run time InvalidArgumentError: an index
///          not in [0, n)
/// source   tf.gather
Tensor gather(const Operand& params, const Operand& indices, GatherOptions options = {},
              Site site = Site::current());

}  // namespace towerflow
