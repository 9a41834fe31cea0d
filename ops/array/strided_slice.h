#pragma once

#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct StridedSliceOptions {
  ByName by_name = ByName();
  int begin_mask = 0;        ///< bit i: begin at the start of dimension i
  int end_mask = 0;          ///< bit i: end at the end of dimension i
  int ellipsis_mask = 0;     ///< bit i: entry i stands for all dimensions without an entry
  int new_axis_mask = 0;     ///< bit i: entry i is a new dimension of size 1
  int shrink_axis_mask = 0;  ///< bit i: take only element begin[i] and remove the dimension
  std::string name{};
};

/// Slices like Python: elements begin, begin + stride, .. before end in each of the first k
/// dimensions; negative indices count from the end. `x[{..}]` (ops/array/indexing.h) is shorter.
///
/// shapes   input [d0, ..], begin, end, strides [k] -> one size per dimension kept or new
/// dtypes   all; begin, end, strides int32 or int64
/// grads    input: dy at the positions taken, zeros elsewhere; the others: none
/// errors   ValueError: a stride of 0, or below 0 for a dimension that is removed; more entries
///          than dimensions; two ellipses; at run time InvalidArgumentError: an index out of bounds
/// source   tf.strided_slice
///
/// (A template, so that braces in place of the strides are taken for options.)
template <class = void>
Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     const Operand& strides, StridedSliceOptions options = {},
                     Site site = Site::current());
/// With strides of one, made with ones_like as in TensorFlow.
Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     StridedSliceOptions options = {}, Site site = Site::current());

/// Returns input[index], element `index` of the first dimension; for calls that pass on a site.
Tensor take_index(const Tensor& input, int index, Site site = Site::current());
/// Returns a range of the first dimension, either end of it optional.
Tensor take_range(const Tensor& input, std::optional<int> begin, std::optional<int> end,
                  Site site = Site::current());

}  // namespace towerflow
