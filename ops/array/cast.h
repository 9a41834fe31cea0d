#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct CastOptions {
  std::string name{};
};

/// Converts values to another dtype. A tensor that already has it is returned without a new node.
///
/// shapes   x [...] -> [...]
/// dtypes   numbers and bool to numbers and bool. Floating to integer truncates; out-of-range
///          values and NaN give the lowest int32 or int64; integers wrap; nonzero is true
/// grads    x: dy cast back, between floating dtypes only
/// errors   TypeError: strings
/// source   tf.cast
Tensor cast(const Operand& x, DType dtype, CastOptions options = {}, Site site = Site::current());
/// Casts a gradient; of slices, the values.
template <GradientLike T>
Gradient cast(const T& x, DType dtype, CastOptions options = {}, Site site = Site::current()) {
  const Gradient gradient = PresentGradient(x, site).gradient();
  return gradient.with_values(cast(gradient.representative(), dtype, std::move(options), site));
}
/// As `cast`, but always adds a node.
Tensor cast_always(const Operand& x, DType dtype, Site site = Site::current());

}  // namespace towerflow
