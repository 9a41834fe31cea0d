#pragma once

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of BatchMatMulV2.
struct BatchMatMulAttrs {
  bool adj_x = false;
  bool adj_y = false;
  bool grad_x = false;  ///< set by TensorFlow if x is a gradient; has no effect here
  bool grad_y = false;
  static constexpr auto fields = std::tuple{attr::field("adj_x", &BatchMatMulAttrs::adj_x),
                                            attr::field("adj_y", &BatchMatMulAttrs::adj_y),
                                            attr::field("grad_x", &BatchMatMulAttrs::grad_x),
                                            attr::field("grad_y", &BatchMatMulAttrs::grad_y)};
};

}  // namespace towerflow
