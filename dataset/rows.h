#pragma once

#include <cstdint>

#include "core/graph/array.h"

namespace towerflow::data {

/// Returns the shape without its first dimension.
Shape row_shape(const Shape& shape);

/// Copies `count` elements of `source`, beginning with element `from`, to `target` at `to`. Both
/// have the same dtype.
void copy_elements(const Array& source, std::int64_t from, Array& target, std::int64_t to,
                   std::int64_t count);

/// Returns the value of an integer argument. Throws InvalidArgumentError unless it is one number.
std::int64_t integer_argument(const Array& value, const char* name);

}  // namespace towerflow::data
