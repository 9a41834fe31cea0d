#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "core/device/backend.h"

namespace towerflow {

/// An event set by one host thread and waited for by others: what backends use whose queues are
/// threads of this process.
class HostEvent final : public Event {
 public:
  void reset() override { done_.store(false, std::memory_order_relaxed); }
  void set();
  bool is_set() const { return done_.load(std::memory_order_acquire); }
  /// Returns when it is set, or early when `cancellation` ends the wait.
  void wait(Cancellation& cancellation);

 private:
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace towerflow
