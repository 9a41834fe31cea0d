#pragma once

#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct CumsumOptions {
  ByName by_name = ByName();
  bool exclusive = false;  ///< an element's own value is not in its sum: the first is 0
  bool reverse = false;    ///< from the end of the axis to its beginning
  std::string name{};
};

/// Running sums along `axis`: y[i] = x[0] + .. + x[i]. They begin at zero and are added in order.
///
/// shapes   x [..], axis [] -> as x
/// dtypes   x all numbers (float32, float64 rows; others reference); axis int32, int64
/// grads    x: the running sums of dy the other way round; axis: none
/// errors   TypeError: a dtype that is no number; in a run InvalidArgumentError: axis out of range
/// source   tf.cumsum
Tensor cumsum(const Operand& x, const ScalarOperand& axis = 0, CumsumOptions options = {},
              Site site = Site::current());
inline Tensor cumsum(const Operand& x, CumsumOptions options, Site site = Site::current()) {
  return cumsum(x, ScalarOperand(0, site), std::move(options), site);
}

}  // namespace towerflow
