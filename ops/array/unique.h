#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::types {

/// Distinct values, and for each element the position of its value among them.
struct UniqueValues {
  Tensor y;
  Tensor idx;
};

/// The same, and how often each value occurs.
struct CountedValues {
  Tensor y;
  Tensor idx;
  Tensor count;
};

/// The elements of one list that are not in another, and their positions.
struct ListDifference {
  Tensor out;
  Tensor idx;
};

}  // namespace towerflow::types

namespace towerflow {

struct UniqueOptions {
  DType out_idx = DType::int32;  ///< of positions and counts: int32 or int64
  std::string name{};
};

/// Returns the distinct values of a vector in the order in which they first occur, and for each
/// element the position of its value among them. NaN is not equal to itself.
///
/// shapes   x [n] -> y [m], idx [n], m known only at run time
/// dtypes   x all; idx int32, int64
/// grads    none, as in TensorFlow
/// errors   ValueError: x is not a vector; TypeError: out_idx
/// source   tf.unique
UniqueValues unique(const Operand& x, UniqueOptions options = {}, Site site = Site::current());

/// As `unique`, and counts each value. (tf.unique_with_counts)
CountedValues unique_with_counts(const Operand& x, UniqueOptions options = {},
                                 Site site = Site::current());

struct SetDiff1dOptions {
  DType index_dtype = DType::int32;  ///< of positions: int32 or int64
  std::string name{};
};

/// Returns the elements of `x` that do not occur in `y`, in their order and with repetitions, and
/// their positions in `x` (op ListDiff).
///
/// shapes   x [n], y [m] -> out [k], idx [k], k known only at run time
/// dtypes   x and y all dtypes, the same; idx int32, int64
/// grads    none, as in TensorFlow
/// errors   ValueError: x or y is not a vector; TypeError: dtypes that differ, index_dtype
/// source   tf.setdiff1d
ListDifference setdiff1d(const Operand& x, const Operand& y, SetDiff1dOptions options = {},
                         Site site = Site::current());

}  // namespace towerflow
