#include "core/device/host_event.h"

namespace towerflow {

void HostEvent::reset() {
  use_.fetch_add(1, std::memory_order_release);
  state_.store(State::open, std::memory_order_release);
}

/// The state only advances: the event may be done before the recording thread marks it as recorded.
void HostEvent::set(State reached) {
  {
    std::lock_guard lock(mutex_);
    if (state() < reached) state_.store(reached, std::memory_order_release);
  }
  changed_.notify_all();
}

void HostEvent::await(State wanted, std::uint64_t wanted_use, Cancellation* cancellation) {
  const auto reached = [&] { return state() >= wanted || use() != wanted_use; };
  if (reached()) return;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (cancellation == nullptr) {
    lock.lock();
    changed_.wait(lock, reached);
    return;
  }
  // The flag belongs to this wait only: several threads may wait for one event, and a run that is
  // cancelled just as the wait ends must leave no state behind for the next use.
  bool cancelled = false;
  const CancellationCallback wake(*cancellation, [this, &cancelled] {
    std::lock_guard waking(mutex_);
    cancelled = true;
    changed_.notify_all();
  });
  lock.lock();
  changed_.wait(lock, [&] { return reached() || cancelled; });
  lock.unlock();  // before ~CancellationCallback, which waits for a call that may need the lock
}

}  // namespace towerflow
