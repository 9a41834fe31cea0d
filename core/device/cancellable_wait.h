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
  struct Waiting {
    std::mutex& mutex;
    std::condition_variable& changed;
    bool cancelled = false;
  } waiting{mutex, changed};
  // Captures one reference: a larger function object would be allocated in every wait.
  const CancellationCallback wake(*cancellation, [&waiting] {
    const std::lock_guard locked(waiting.mutex);
    waiting.cancelled = true;
    waiting.changed.notify_all();
  });
  lock.lock();
  changed.wait(lock, [&] { return reached() || waiting.cancelled; });
  lock.unlock();  // before ~CancellationCallback, which waits for a call that may need the lock
}

}  // namespace towerflow
