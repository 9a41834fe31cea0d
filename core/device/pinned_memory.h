#pragma once

#include <cstddef>
#include <memory>

namespace towerflow {

/// Allocates host memory whose pages the system may not move or swap out, as copy engines require.
/// Used for variables, slots and the staging of gradients. Aligned to 64 bytes; not zeroed.
///
/// If the limit of the user (`ulimit -l`) or of the system forbids locking, the memory stays
/// pageable and the process logs one warning. Small blocks share pages. Throws
/// ResourceExhaustedError if there is no memory.
std::shared_ptr<void> allocate_pinned(std::size_t bytes);

/// Returns whether an address is in memory of `allocate_pinned`, locked or not.
bool is_pinned(const void* address);

/// Bytes that are locked, and bytes that could not be locked.
struct PinnedState {
  std::size_t locked = 0;
  std::size_t refused = 0;
};
PinnedState pinned_state();

}  // namespace towerflow
