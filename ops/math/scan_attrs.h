#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of Cumsum.
struct CumsumAttrs {
  bool exclusive = false;
  bool reverse = false;
  static constexpr auto fields = std::tuple{attr::field("exclusive", &CumsumAttrs::exclusive),
                                            attr::field("reverse", &CumsumAttrs::reverse)};
};

/// Attributes of Cumprod.
struct CumprodAttrs {
  bool exclusive = false;
  bool reverse = false;
  static constexpr auto fields = std::tuple{attr::field("exclusive", &CumprodAttrs::exclusive),
                                            attr::field("reverse", &CumprodAttrs::reverse)};
};

}  // namespace towerflow
