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

/// Learns of the pages of `allocate_pinned`, as a driver that makes them known to its devices.
class PinnedObserver {
 public:
  virtual ~PinnedObserver() = default;
  /// Called when the pages exist, and before they are given back; must not allocate pinned memory.
  virtual void add_pages(void* pages, std::size_t bytes) noexcept = 0;
  virtual void remove_pages(void* pages) noexcept = 0;
};

/// Tells `observer` of all pages from now on, and first of those that exist. The observer before it
/// is told that all pages end, for it; nullptr: nobody observes. Thread-safe.
void observe_pinned(PinnedObserver* observer);

}  // namespace towerflow
