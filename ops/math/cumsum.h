#pragma once

#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct CumsumOptions {
  ByName by_name = ByName();
  bool exclusive = false;  ///< whether a sum leaves out its own element: the first sum is 0
  bool reverse = false;    ///< whether to sum from the end of the axis to its beginning
  std::string name{};
};

/// Returns running sums along `axis`: y[i] = x[0] + .. + x[i], added in order starting from zero.
///
/// shapes   x [..], axis [] -> as x
/// dtypes   x all numbers (float32, float64 rows; others reference); axis int32, int64
/// grads    x: the running sums of dy in the opposite direction; axis: none
/// errors   TypeError: a dtype that is not a number; at run time InvalidArgumentError: axis out of
///          range
/// source   tf.cumsum
Tensor cumsum(const Operand& x, const ScalarOperand& axis = 0, CumsumOptions options = {},
              Site site = Site::current());
inline Tensor cumsum(const Operand& x, CumsumOptions options, Site site = Site::current()) {
  return cumsum(x, ScalarOperand(0, site), std::move(options), site);
}

}  // namespace towerflow
