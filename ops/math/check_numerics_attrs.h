#pragma once

#include <string>
#include <tuple>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of CheckNumerics.
struct CheckNumericsAttrs {
  std::string message;
  static constexpr auto fields =
      std::tuple{attr::required("message", &CheckNumericsAttrs::message)};
};

}  // namespace towerflow
