#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow::nn {

struct ReluOptions {
  std::string name{};
};

/// max(features, 0), elementwise; NaN stays NaN.
///
/// shapes   features [...] -> [...]     dtypes  real numbers (float32 simd, others reference)
/// grads    features: dy where the result is positive, else 0
/// source   tf.nn.relu
Tensor relu(const Operand& features, ReluOptions options = {}, Site site = Site::current());

}  // namespace towerflow::nn
