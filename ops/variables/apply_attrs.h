#pragma once

#include <tuple>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of the ops that optimizers create.
struct ApplyAttrs {
  bool use_locking = false;
  bool use_nesterov = false;
  static constexpr auto fields = std::tuple{attr::field("use_locking", &ApplyAttrs::use_locking),
                                            attr::field("use_nesterov", &ApplyAttrs::use_nesterov)};
};

}  // namespace towerflow
