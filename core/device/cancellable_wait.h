#pragma once

#include <condition_variable>
#include <mutex>

#include "core/device/cancellation.h"

namespace towerflow {

/// Waits on `changed`, which `mutex` belongs to, until `reached()`; returns early if `cancellation`
/// is given and the run is cancelled. Whoever changes what `reached` reads locks the mutex.
template <class Reached>
void wait_until_reached(std::mutex& mutex, std::condition_variable& changed, const Reached& reached,
                        Cancellation* cancellation) {
  if (reached()) return;
  std::unique_lock lock(mutex, std::defer_lock);
  if (cancellation == nullptr) {
    lock.lock();
    changed.wait(lock, reached);
    return;
  }
  // The flag belongs to this wait only: several threads may wait at once, and a run that is
  // cancelled just as the wait ends must leave no state behind for the next one.
  bool cancelled = false;
  const CancellationCallback wake(*cancellation, [&] {
    const std::lock_guard waking(mutex);
    cancelled = true;
    changed.notify_all();
  });
  lock.lock();
  changed.wait(lock, [&] { return reached() || cancelled; });
  lock.unlock();  // before ~CancellationCallback, which waits for a call that may need the lock
}

}  // namespace towerflow
