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
  const CancellationCallback wake(cancellation, [this] {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_set() || cancelled_; });
  cancelled_ = false;
}

}  // namespace towerflow
