#pragma once

#include <array>

#include "core/graph/attr_fields.h"

namespace towerflow {

enum class MirrorMode {
  reflect,
  symmetric,  ///< the outermost element is repeated
};

template <>
inline constexpr std::array<const char*, 2> kAttrNames<MirrorMode>{"REFLECT", "SYMMETRIC"};

/// Attributes of MirrorPad and its gradient.
struct MirrorAttrs {
  MirrorMode mode = MirrorMode::reflect;
  static constexpr auto fields = std::tuple{attr::required("mode", &MirrorAttrs::mode)};
};

}  // namespace towerflow
