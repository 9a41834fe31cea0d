#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct BincountOptions {
  Operand weights = Array();    ///< of the values; 1 each when absent
  Operand minlength = Array();  ///< the result has at least as many elements
  Operand maxlength = Array();  ///< values from here on are not counted
  DType dtype = DType::int32;   ///< of the result if there are no weights
};

/// Counts how often each integer occurs, or sums the weights of each.
///
/// shapes   arr [..], weights as arr -> [largest value + 1]
/// dtypes   arr int32, int64 (others are cast to int32); weights and result int32, int64, float32,
///          float64
/// grads    none, as in TensorFlow
/// errors   at run time InvalidArgumentError: a negative value or length, weights of another shape
/// source   tf.bincount
Tensor bincount(const Operand& arr, BincountOptions options = {}, Site site = Site::current());

struct HistogramFixedWidthOptions {
  Operand nbins = 100;
  DType dtype = DType::int32;  ///< of the result: int32 or int64
  std::string name{};
};

/// Counts values in `nbins` bins of equal width between the two numbers of `value_range`. Values
/// outside are counted in the first or the last bin.
///
/// shapes   values [..], value_range [2] -> [nbins]
/// dtypes   values and value_range int32, int64, float32, float64
/// grads    none, as in TensorFlow
/// errors   ValueError: nbins below 1; TypeError: dtypes; at run time InvalidArgumentError: an
/// empty
///          range, NaN
/// source   tf.histogram_fixed_width
Tensor histogram_fixed_width(const Operand& values, const Operand& value_range,
                             HistogramFixedWidthOptions options = {}, Site site = Site::current());

}  // namespace towerflow
