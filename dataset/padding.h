#pragma once

#include <cstdint>

#include "core/graph/array.h"

namespace towerflow::data {

/// Writes `value`, padded with the scalar `padding` to shape `row`, as row `index` of `batch`,
/// which has rows of that shape.
void copy_padded(const Array& value, const Array& padding, const Shape& row, Array& batch,
                 std::int64_t index);

}  // namespace towerflow::data
