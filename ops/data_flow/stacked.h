#pragma once

#include <cstddef>
#include <vector>

#include "ops/data_flow/queue_order.h"

namespace towerflow {

/// The shape of component `index` of `elements`, one above the other: [n, ...], where a dimension
/// that `declared` does not know is as large as the largest among them, 0 when there are none.
/// ResourceExhaustedError when its bytes pass what can be addressed.
Shape stacked_shape(const std::vector<QueueElement>& elements, std::size_t index,
                    const Shape& declared, DType dtype);

/// Writes component `index` of the elements one after another into memory of `shape`, which
/// `stacked_shape` gave. What smaller elements leave open becomes 0, false or "".
void write_stacked(const std::vector<QueueElement>& elements, std::size_t index, const Shape& shape,
                   void* out);

}  // namespace towerflow
