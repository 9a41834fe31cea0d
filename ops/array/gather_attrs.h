#pragma once

#include <cstdint>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of GatherV2.
struct GatherAttrs {
  std::int64_t batch_dims = 0;
  static constexpr auto fields = std::tuple{attr::field("batch_dims", &GatherAttrs::batch_dims)};
};

}  // namespace towerflow
