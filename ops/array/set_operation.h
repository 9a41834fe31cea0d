#pragma once

#include "core/graph/operand.h"
#include "ops/array/sparse_tensor.h"

namespace towerflow::sets {

struct SetOptions {
  bool validate_indices = true;  ///< of sparse operands, which there are none of here
};

struct SetDifferenceOptions {
  bool aminusb = true;           ///< whether b is taken from a, or a from b
  bool validate_indices = true;  ///< as above
};

/// Each of these takes the rows of `a` and `b` as sets and returns the distinct values of a row
/// that are in both, in either, or in one but not in the other, in ascending order, as a
/// SparseTensor.
///
/// shapes   a [.., n], b [.., m], of rank 2 at least and equal but for the last size
///          -> indices [k, rank], values [k], dense_shape [rank], k known only at run time
/// dtypes   int32, int64, uint8, string, both the same
/// grads    none, as in TensorFlow
/// errors   ValueError: shapes that do not fit; TypeError: another dtype, dtypes that differ; at
/// run
///          time InvalidArgumentError: shapes that do not fit
/// source   tf.sets.set_intersection, tf.sets.set_union, tf.sets.set_difference
SparseTensor set_intersection(const Operand& a, const Operand& b, SetOptions options = {},
                              Site site = Site::current());
SparseTensor set_union(const Operand& a, const Operand& b, SetOptions options = {},
                       Site site = Site::current());
SparseTensor set_difference(const Operand& a, const Operand& b, SetDifferenceOptions options = {},
                            Site site = Site::current());

}  // namespace towerflow::sets
