#pragma once

#include <array>
#include <tuple>

#include "core/graph/attrs.h"
#include "core/graph/variable_home.h"

namespace towerflow {

template <>
inline constexpr std::array<const char*, 3> kAttrNames<VariableHome>{"host", "device", "mirrored"};

/// Attributes of op VariableV2.
struct VariableAttrs {
  DType dtype = DType::float32;
  Shape shape;
  VariableHome home = VariableHome::host;
  static constexpr auto fields = std::tuple{attr::required("dtype", &VariableAttrs::dtype),
                                            attr::required("shape", &VariableAttrs::shape),
                                            attr::field("_home", &VariableAttrs::home)};
};

}  // namespace towerflow
