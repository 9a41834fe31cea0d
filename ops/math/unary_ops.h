#pragma once

#include <string_view>

#include "ops/math/broadcast_loop.h"

namespace towerflow {

/// Returns the loop that the kernel of a unary op runs over `dtype`, or null if the op is not in
/// the table or does not take that dtype.
UnaryLoop unary_loop_of(std::string_view op, DType dtype);

}  // namespace towerflow
