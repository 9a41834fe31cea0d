#include "core/device/host_event.h"

namespace towerflow {

void HostEvent::set() {
  {
    std::lock_guard lock(mutex_);
    done_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

void HostEvent::wait(Cancellation& cancellation) {
  if (is_set()) return;
  // Of this wait alone: several may wait for one event, and a run that is cancelled just as the
  // wait ends must leave nothing behind for the next.
  bool cancelled = false;
  const CancellationCallback wake(cancellation, [this, &cancelled] {
    std::lock_guard lock(mutex_);
    cancelled = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_set() || cancelled; });
}

}  // namespace towerflow
