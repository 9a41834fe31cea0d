#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/graph/attr_fields.h"

namespace towerflow {

/// Attributes of Enter and RefEnter.
struct EnterAttrs {
  std::string frame_name;
  bool is_constant = false;
  std::int64_t parallel_iterations = 10;
  static constexpr auto fields =
      std::tuple{attr::required("frame_name", &EnterAttrs::frame_name),
                 attr::field("is_constant", &EnterAttrs::is_constant),
                 attr::field("parallel_iterations", &EnterAttrs::parallel_iterations)};
};

/// Attributes of _AnyOf, which tells whether one of several conditions holds. A term is a condition
/// on inputs that must all hold, `2 * input + value` each, followed by -1.
struct AnyOfAttrs {
  std::vector<std::int64_t> terms;
  static constexpr auto fields = std::tuple{attr::required("terms", &AnyOfAttrs::terms)};
};

}  // namespace towerflow
