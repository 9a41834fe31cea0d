#pragma once

#include "ops/nn/window_args.h"

namespace towerflow::nn {

/// Attributes of BiasAdd and BiasAddGrad.
struct BiasAddAttrs {
  DataFormat format = DataFormat::nhwc;
  bool operator==(const BiasAddAttrs&) const = default;
};

}  // namespace towerflow::nn
