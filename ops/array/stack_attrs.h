#pragma once

#include <cstdint>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of Pack, which stacks along a new first dimension by default.
struct PackAttrs {
  int axis = 0;
  static constexpr auto fields = std::tuple{attr::field("axis", &PackAttrs::axis)};
};

/// Attributes of Unpack.
struct UnpackAttrs {
  int axis = 0;
  std::int64_t num = 0;
  static constexpr auto fields =
      std::tuple{attr::field("axis", &UnpackAttrs::axis), attr::required("num", &UnpackAttrs::num)};
};

}  // namespace towerflow
