#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct SortOptions {
  int axis = -1;                        ///< the dimension that is sorted, from -rank to rank-1
  std::string direction = "ASCENDING";  ///< or "DESCENDING"
  std::string name{};
};

/// Sorts the elements along one axis. Composed of top_k, with negations for ascending order. NaN
/// comes last.
///
/// shapes   values [d0, ..] -> as values     dtypes  all numbers
/// grads    values: dy moved back
/// errors   ValueError: direction, axis out of range, a scalar
/// source   tf.sort
Tensor sort(const Operand& values, SortOptions options = {}, Site site = Site::current());

struct ArgSortOptions {
  int axis = -1;
  std::string direction = "ASCENDING";
  bool stable = false;  ///< no effect: equal elements always keep their order
  std::string name{};
};

/// Returns the indices that sort the elements along one axis: int32. (tf.argsort)
Tensor argsort(const Operand& values, ArgSortOptions options = {}, Site site = Site::current());

}  // namespace towerflow
