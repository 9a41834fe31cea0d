#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

struct CastOptions {
  std::string name{};
};

/// The values as another dtype; the tensor itself, without a node, when it has that dtype.
///
/// shapes   x [...] -> [...]
/// dtypes   numbers and bool to numbers and bool. Floating to integer cuts the fraction off; out
///          of range, and NaN, give the lowest int32 or int64; integers wrap; not 0 is true
/// grads    x: dy cast back, between floating dtypes only
/// errors   TypeError: strings
/// source   tf.cast
Tensor cast(const Operand& x, DType dtype, CastOptions options = {}, Site site = Site::current());
/// Of slices the values.
template <GradientLike T>
Gradient cast(const T& x, DType dtype, CastOptions options = {}, Site site = Site::current()) {
  const Gradient gradient = PresentGradient(x, site).gradient();
  return gradient.with_values(cast(gradient.representative(), dtype, std::move(options), site));
}
/// The same with a node of its own in any case.
Tensor cast_always(const Operand& x, DType dtype, Site site = Site::current());

}  // namespace towerflow
