#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct StridedSliceOptions {
  ByName by_name = ByName();
  int begin_mask = 0;        ///< bit i: from the start of dimension i
  int end_mask = 0;          ///< bit i: to the end of dimension i
  int shrink_axis_mask = 0;  ///< bit i: only element begin[i], the dimension goes away
  std::string name{};
};

/// Python's slices: elements begin, begin + stride, .. before end of each of the first dimensions;
/// negative places count from the end.
///
/// shapes   input [d0, ..], begin, end, strides [k], k <= rank -> one size a dimension
/// dtypes   all; begin, end, strides int32 or int64
/// grads    input: dy with zeros in between; the others: none
/// errors   ValueError: a stride of 0, or below 0 for a dimension that is dropped; in a run
///          InvalidArgumentError: an element that is not there
/// source   tf.strided_slice without ellipsis and new axes
///
/// With strides a template, so that options in braces are taken for options.
template <class = void>
Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     const Operand& strides, StridedSliceOptions options = {},
                     Site site = Site::current());
/// With strides of one, a tensor that TensorFlow makes with ones_like.
Tensor strided_slice(const Operand& input, const Operand& begin, const Operand& end,
                     StridedSliceOptions options = {}, Site site = Site::current());

/// Element `index` of the first dimension: Python's x[index].
Tensor take_index(const Tensor& input, int index, Site site = Site::current());
/// Some of the first dimension: Python's x[begin:end], either left out where absent.
Tensor take_range(const Tensor& input, std::optional<int> begin, std::optional<int> end,
                  Site site = Site::current());

}  // namespace towerflow
