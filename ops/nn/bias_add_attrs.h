#pragma once

#include "core/graph/attr_fields.h"
#include "ops/nn/window_args.h"

namespace towerflow::nn {

/// Attributes of BiasAdd and BiasAddGrad.
struct BiasAddAttrs {
  DataFormat format = DataFormat::nhwc;
  static constexpr auto fields = std::tuple{attr::field("data_format", &BiasAddAttrs::format)};
};

}  // namespace towerflow::nn
