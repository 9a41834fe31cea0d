#pragma once

#include <cstddef>
#include <vector>

#include "ops/data_flow/queue_order.h"

namespace towerflow {

/// Returns the shape of component `index` of `elements` when stacked: [n, ...]. A dimension that is
/// unknown in `declared` gets the largest size among the elements, 0 if there are none. Throws
/// ResourceExhaustedError if the byte count exceeds the address space.
Shape stacked_shape(const std::vector<QueueElement>& elements, std::size_t index,
                    const Shape& declared, DType dtype);

/// Writes component `index` of the elements one after another into memory of `shape`, as returned
/// by `stacked_shape`. Smaller elements are padded with 0, false or "".
void write_stacked(const std::vector<QueueElement>& elements, std::size_t index, const Shape& shape,
                   void* out);

}  // namespace towerflow
