#pragma once

#include <cstdint>

#include "core/graph/dtype.h"

namespace towerflow {

using CastLoop = void (*)(const void* in, void* out, std::int64_t n);

/// The loop that the kernel of Cast runs, null for dtypes that are not cast. Never in place.
CastLoop cast_loop(DType from, DType to);

}  // namespace towerflow
