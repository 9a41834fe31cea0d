#pragma once

#include "core/graph/attr_fields.h"
#include "ops/array/diagonal_band.h"

namespace towerflow {

/// Attributes of the ops on diagonals of matrices.
struct DiagonalAttrs {
  DiagonalAlign align = DiagonalAlign::right_left;
  static constexpr auto fields = std::tuple{attr::field("align", &DiagonalAttrs::align)};
};

}  // namespace towerflow
