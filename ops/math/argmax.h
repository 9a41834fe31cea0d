#pragma once

#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct ArgMaxOptions {
  ByName by_name = ByName();
  DType output_type = DType::int64;  ///< int32 or int64
  std::string name{};
};

/// Returns the index of the largest element along `axis`, the first if there are several. NaN never
/// counts as the largest; the index is 0 if all elements are NaN or -inf.
///
/// shapes   input [.., n, ..], axis [] -> without that dimension
/// dtypes   all numbers -> int64 or int32
/// grads    none: an index is an integer
/// errors   ValueError: axis out of range; at run time InvalidArgumentError: n is 0
/// source   tf.argmax
Tensor argmax(const Operand& input, const ScalarOperand& axis = 0, ArgMaxOptions options = {},
              Site site = Site::current());
inline Tensor argmax(const Operand& input, ArgMaxOptions options, Site site = Site::current()) {
  return argmax(input, ScalarOperand(0, site), std::move(options), site);
}

/// Returns the index of the smallest element; 0 if all elements are NaN or inf. (tf.argmin)
Tensor argmin(const Operand& input, const ScalarOperand& axis = 0, ArgMaxOptions options = {},
              Site site = Site::current());
inline Tensor argmin(const Operand& input, ArgMaxOptions options, Site site = Site::current()) {
  return argmin(input, ScalarOperand(0, site), std::move(options), site);
}

}  // namespace towerflow
