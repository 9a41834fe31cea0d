#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow::nn {

/// Attributes of LeakyRelu and its gradient.
struct LeakyReluAttrs {
  float alpha = 0.2F;
  static constexpr auto fields = std::tuple{attr::field("alpha", &LeakyReluAttrs::alpha)};
};

}  // namespace towerflow::nn
