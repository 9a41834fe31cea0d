#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of Pack, which stacks along a new first dimension by default.
struct PackAttrs {
  int axis = 0;
  static constexpr auto fields = std::tuple{attr::field("axis", &PackAttrs::axis)};
};

}  // namespace towerflow
