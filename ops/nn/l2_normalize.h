#pragma once

#include <string>

#include "ops/math/reduce.h"

namespace towerflow::nn {

struct L2NormalizeOptions {
  ByName by_name = ByName();
  double epsilon = 1e-12;  ///< lower bound of the sum of squares
  std::string name{};
};

/// Returns x / sqrt(max(sum(x^2), epsilon)), with the sum taken along `axis`: vectors of length 1.
///
/// shapes   x [..] -> as x     dtypes  floating
/// grads    x: those of the ops it consists of
/// source   tf.nn.l2_normalize
///
/// The overload with a positional axis is a template for the same reason as the reductions.
template <class = void>
Tensor l2_normalize(const Operand& x, Axis axis, L2NormalizeOptions options = {},
                    Site site = Site::current());
Tensor l2_normalize(const Operand& x, L2NormalizeOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
