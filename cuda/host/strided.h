#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/host/work.h"

namespace towerflow::cuda::host {

/// One dimension of a box of elements in memory; the stride is in bytes and at least 0.
struct Extent {
  std::int64_t size = 1;
  std::int64_t stride = 0;
};

/// Returns the bytes that a box covers, from its first to its last, gaps included; 0 if empty.
std::size_t hull_bytes(std::size_t element, std::span<const Extent> extents);

/// Appends the ranges that the elements of a box cover exactly: neighbours are merged and gaps
/// left out, so that work on interleaved parts of one buffer is not taken for a conflict.
void append_operands(std::vector<Operand>& operands, const void* at, std::size_t element,
                     std::span<const Extent> extents, bool written);

/// What to do before work of a library touches memory: returns cudaErrorMisalignedAddress or
/// cudaErrorIllegalAddress, sticky errors both, if the bytes are not for a kernel to access.
cudaError_t check_access(const void* at, std::size_t bytes, std::size_t alignment);

}  // namespace towerflow::cuda::host
