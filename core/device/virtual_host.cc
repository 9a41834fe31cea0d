#include "core/device/virtual_host.h"

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow {

double VirtualHost::now(int worker) const {
  const std::lock_guard lock(mutex_);
  return times_[static_cast<std::size_t>(worker)];
}

void VirtualHost::advance(int worker, double time) {
  const std::lock_guard lock(mutex_);
  time_of(worker) = std::max(time_of(worker), time);
  moved_.notify_all();
}

void VirtualHost::leave(int worker) { advance(worker, kNever); }

void VirtualHost::join(int worker, double time) {
  const std::lock_guard lock(mutex_);
  time_of(worker) = time;
}

bool VirtualHost::is_turn(int worker) const {
  const auto own = static_cast<std::size_t>(worker);
  for (std::size_t other = 0; other < times_.size(); ++other) {
    if (times_[other] == kNever) continue;
    const bool before = other < own ? times_[other] <= times_[own] : times_[other] < times_[own];
    if (before) return false;
  }
  return true;
}

void VirtualHost::await_turn(int worker) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return is_turn(worker); });
}

double VirtualHost::take_core(int worker, double time, Cancellation& cancellation) {
  const CancellationCallback wake(cancellation, [this] {
    const std::lock_guard lock(mutex_);
    moved_.notify_all();
  });
  std::unique_lock lock(mutex_);
  time_of(worker) = std::max(time_of(worker), time);
  moved_.notify_all();
  moved_.wait(lock, [&] { return cancellation.cancelled() || is_turn(worker); });
  if (cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
  return std::max(time, free_);
}

double VirtualHost::core_is_free() const {
  const std::lock_guard lock(mutex_);
  return free_;
}

void VirtualHost::free_core(int worker, double time) {
  const std::lock_guard lock(mutex_);
  free_ = std::max(free_, time);
  time_of(worker) = std::max(time_of(worker), time);
  moved_.notify_all();
}

}  // namespace towerflow
