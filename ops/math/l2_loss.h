#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct L2LossOptions {
  std::string name{};
};

/// Returns half the sum of squares.
///
/// shapes   t [...] -> []     dtypes  floating     grads  t: t * dy
/// source   tf.nn.l2_loss
Tensor l2_loss(const Operand& t, L2LossOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
