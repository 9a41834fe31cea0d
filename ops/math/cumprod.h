#pragma once

#include <string>
#include <utility>

#include "core/graph/operand.h"

namespace towerflow {

struct CumprodOptions {
  ByName by_name = ByName();
  bool exclusive = false;  ///< whether a product leaves out its own element: the first one is 1
  bool reverse = false;    ///< whether to multiply from the end of the axis to its beginning
  std::string name{};
};

/// Returns running products along `axis`: y[i] = x[0] * .. * x[i], multiplied in order.
///
/// shapes   x [..], axis [] -> as x
/// dtypes   x all numbers; axis int32, int64
/// grads    x: as in TensorFlow computed by a division, so it is 0 where an element is 0; axis:
/// none errors   TypeError: a dtype that is not a number; at run time InvalidArgumentError: axis
/// out of
///          range
/// source   tf.cumprod
Tensor cumprod(const Operand& x, const ScalarOperand& axis = 0, CumprodOptions options = {},
               Site site = Site::current());
inline Tensor cumprod(const Operand& x, CumprodOptions options, Site site = Site::current()) {
  return cumprod(x, ScalarOperand(0, site), std::move(options), site);
}

}  // namespace towerflow
