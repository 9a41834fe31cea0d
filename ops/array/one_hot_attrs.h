#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of OneHot.
struct OneHotAttrs {
  int axis = -1;
  static constexpr auto fields = std::tuple{attr::field("axis", &OneHotAttrs::axis)};
};

}  // namespace towerflow
