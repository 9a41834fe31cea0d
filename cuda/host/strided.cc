#include "cuda/host/strided.h"

#include <algorithm>

namespace towerflow::cuda::host {

std::size_t hull_bytes(std::size_t element, std::span<const Extent> extents) {
  std::size_t last = 0;
  for (const Extent& extent : extents) {
    if (extent.size == 0) return 0;
    last += static_cast<std::size_t>((extent.size - 1) * extent.stride);
  }
  return last + element;
}

void append_operands(std::vector<Operand>& operands, const void* at, std::size_t element,
                     std::span<const Extent> extents, bool written) {
  if (hull_bytes(element, extents) == 0) return;
  std::vector<Extent> outer;
  for (const Extent& extent : extents) {
    if (extent.size > 1 && extent.stride > 0) outer.push_back(extent);
  }
  std::sort(outer.begin(), outer.end(),
            [](const Extent& a, const Extent& b) { return a.stride > b.stride; });
  // The innermost dimensions that leave no gap are one run of bytes.
  std::size_t run = element;
  while (!outer.empty() && outer.back().stride <= static_cast<std::int64_t>(run)) {
    run += static_cast<std::size_t>((outer.back().size - 1) * outer.back().stride);
    outer.pop_back();
  }
  const auto* const base = static_cast<const std::byte*>(at);
  std::vector<std::int64_t> index(outer.size(), 0);
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < outer.size(); ++d) offset += index[d] * outer[d].stride;
    operands.push_back({base + offset, run, written});
    std::size_t d = outer.size();
    while (d > 0 && ++index[d - 1] == outer[d - 1].size) index[--d] = 0;
    if (d == 0) return;
  }
}

cudaError_t check_access(const void* at, std::size_t bytes, std::size_t alignment) {
  if (bytes == 0) return cudaSuccess;
  if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0) return cudaErrorMisalignedAddress;
  return is_accessible(at, bytes) ? cudaSuccess : cudaErrorIllegalAddress;
}

}  // namespace towerflow::cuda::host
