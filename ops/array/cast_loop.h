#pragma once

#include <cstdint>

#include "core/graph/dtype.h"

namespace towerflow {

using CastLoop = void (*)(const void* in, void* out, std::int64_t n);

/// Returns the loop that the Cast kernel runs; null for dtypes that cannot be cast. `in` and `out`
/// must not overlap.
CastLoop cast_loop(DType from, DType to);

}  // namespace towerflow
