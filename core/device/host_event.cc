#include "core/device/host_event.h"

#include "core/device/cancellable_wait.h"

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
  wait_until_reached(mutex_, changed_, reached, cancellation);
}

}  // namespace towerflow
