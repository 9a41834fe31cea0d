#pragma once

#include <cstddef>
#include <memory>

namespace towerflow {

/// Host memory whose pages the system may not move or swap out, as copy engines want it: variables,
/// slots, and the staging of gradients lie in it. Aligned to 64 bytes; not zeroed.
///
/// Where the limit of the user (`ulimit -l`) or of the system forbids the lock, the memory is
/// ordinary memory: a warning says so, once a process, and the program goes on. Small blocks share
/// pages. Throws ResourceExhaustedError when there is no memory at all.
std::shared_ptr<void> allocate_pinned(std::size_t bytes);

/// Whether an address lies in memory that `allocate_pinned` has given, locked or not.
bool is_pinned(const void* address);

/// Bytes in locked pages now, and bytes that could not be locked.
struct PinnedState {
  std::size_t locked = 0;
  std::size_t refused = 0;
};
PinnedState pinned_state();

}  // namespace towerflow
