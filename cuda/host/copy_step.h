#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "cuda/host/memory.h"
#include "cuda/host/step.h"

namespace towerflow::cuda::host {

/// Makes the step of a copy, or returns 1 for pointers that do not fit its kind or its length.
cudaError_t make_copy(const Memory& memory, void* to, const void* from, std::size_t bytes,
                      cudaMemcpyKind kind, CopyStep& step);
/// Makes the step of a memset of `value_bytes` at a time, or returns 1 for memory that is not a
/// device's.
cudaError_t make_set(const Memory& memory, void* at, unsigned value, std::size_t value_bytes,
                     std::size_t bytes, SetStep& step);

}  // namespace towerflow::cuda::host
