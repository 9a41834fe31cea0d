#pragma once

#include <cstdint>

#include "core/graph/attr_fields.h"
#include "ops/nn/window_args.h"

namespace towerflow {

/// Attributes of SpaceToDepth and DepthToSpace.
struct DepthBlockAttrs {
  std::int64_t block_size = 0;
  nn::DataFormat format = nn::DataFormat::nhwc;
  static constexpr auto fields =
      std::tuple{attr::required("block_size", &DepthBlockAttrs::block_size),
                 attr::field("data_format", &DepthBlockAttrs::format)};
};

}  // namespace towerflow
