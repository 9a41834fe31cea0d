#pragma once

#include <string>

#include "ops/math/reduce.h"

namespace towerflow::nn {

struct L2NormalizeOptions {
  ByName by_name = ByName();
  double epsilon = 1e-12;  ///< the least that a sum of squares counts
  std::string name{};
};

/// x / sqrt(max(sum(x^2), epsilon)), the sum taken along `axis`: vectors of length 1.
///
/// shapes   x [..] -> as x     dtypes  floating
/// grads    x, of the ops it is made of
/// source   tf.nn.l2_normalize
/// With the axis by its place a template, as the reductions are.
template <class = void>
Tensor l2_normalize(const Operand& x, Axis axis, L2NormalizeOptions options = {},
                    Site site = Site::current());
Tensor l2_normalize(const Operand& x, L2NormalizeOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
