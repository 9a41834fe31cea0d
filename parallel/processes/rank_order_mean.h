#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/dtype.h"

namespace towerflow::parallel::processes {

/// Writes the mean of `parts`, float32 or float64 numbers in memory, to `out`, which may be one of
/// them. Numbers are added in the order of `parts`, starting from zero, so that repeats are equal
/// to the bit.
void mean_in_order(DType dtype, const std::vector<const void*>& parts, std::int64_t count,
                   void* out);

}  // namespace towerflow::parallel::processes
