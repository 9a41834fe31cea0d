#pragma once

#include <cstdint>
#include <tuple>

#include "core/graph/attr_fields.h"
#include "core/graph/shape.h"

namespace towerflow {

/// Attributes of _Regroup, an op of plans only: all inputs, flattened, form one row, of which it
/// returns the elements from `begin` on, as many as `shape` has.
struct RegroupAttrs {
  std::int64_t begin = 0;
  Shape shape;
  static constexpr auto fields = std::tuple{attr::field("begin", &RegroupAttrs::begin),
                                            attr::required("shape", &RegroupAttrs::shape)};
};

}  // namespace towerflow
