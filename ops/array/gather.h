#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct GatherOptions {
  int axis = 0;  ///< from -rank to rank-1
  std::string name{};
};

/// Gathers slices of `params` along `axis` by index.
///
/// shapes   params [.., n, ..], indices [i0, ..] -> [.., i0, .., ..]
/// dtypes   params all; indices int32, int64
/// grads    params: for axis 0 IndexedSlices, else dense; indices: none
/// errors   ValueError: axis out of range; InvalidArgumentError at run time: an index not in [0, n)
/// source   tf.gather
Tensor gather(const Operand& params, const Operand& indices, GatherOptions options = {},
              Site site = Site::current());

}  // namespace towerflow
