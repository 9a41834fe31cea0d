#pragma once

#include <string>
#include <tuple>

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

}  // namespace towerflow
