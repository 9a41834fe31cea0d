#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Of Pack: along a new first dimension where nothing else is said.
struct PackAttrs {
  int axis = 0;
  static constexpr auto fields = std::tuple{attr::field("axis", &PackAttrs::axis)};
};

}  // namespace towerflow
