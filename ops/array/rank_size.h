#pragma once

#include "core/graph/operand.h"

namespace towerflow {

struct RankOptions {
  std::string name{};
};

/// Returns the number of dimensions; a constant if it is known when the graph is built.
/// shapes   input [...] -> []     dtypes  any -> int32     grads  none     source  tf.rank
Tensor rank(const Operand& input, RankOptions options = {}, Site site = Site::current());
/// As `rank`, but never a constant: fetching it waits for the input and fails if the input fails.
/// (array_ops.rank_internal with optimize=False)
Tensor runtime_rank(const Tensor& input, RankOptions options = {}, Site site = Site::current());

struct SizeOptions {
  std::string name{};
  DType out_type = DType::int32;  ///< int32 or int64
};

/// Returns the number of elements; a constant if it is known when the graph is built.
/// shapes   input [...] -> []     dtypes  any -> int32, int64     grads  none     source  tf.size
Tensor size(const Operand& input, SizeOptions options = {}, Site site = Site::current());

}  // namespace towerflow
