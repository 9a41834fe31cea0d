#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace towerflow {

/// Bytes of a huge page, as x86-64 and Linux's default on ARM64 have it.
inline constexpr std::size_t kHugePage = 2 * 1024 * 1024;

/// Asks the system to back a block by huge pages, from the first multiple of kHugePage in it on, if
/// one fits. It is only a hint: steps over data that do not fit the caches become a few percent
/// faster.
inline void request_huge_pages(const void* block, std::size_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = (start + kHugePage - 1) / kHugePage * kHugePage;
  if (first + kHugePage <= start + bytes) {
    madvise(reinterpret_cast<void*>(first), start + bytes - first, MADV_HUGEPAGE);
  }
}

}  // namespace towerflow
