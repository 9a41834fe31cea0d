#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/device/cancellation.h"

namespace towerflow {

class Queue;

/// A point in the order of the queue that records it, for other queues and for threads of the host.
/// Used again in every run of its frame.
///
/// It is recorded when the queue has been told of it, and done when all work before it has ended.
/// Work that waits for a recorded event is certain to start: whatever is enqueued ends.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// Before a run: neither recorded nor done. The work of the use before is over by then.
  virtual void reset() = 0;
  virtual bool done() const = 0;
  /// Of one that is done: whether work before it has failed or was left out.
  virtual bool failed() const = 0;
  /// Returns early when the run is cancelled.
  virtual void await_recorded(Cancellation& cancellation) = 0;
  /// Returns when the work of use number `use` is over; early when the run is cancelled, if there
  /// is a `cancellation`.
  virtual void await_done(std::uint64_t use, Cancellation* cancellation) = 0;

  /// How many times it has been reset.
  std::uint64_t use() const { return use_.load(std::memory_order_acquire); }
  /// Whether that use has failed, though the event may be used again by now.
  bool failed_in(std::uint64_t number) const {
    return failed_use_.load(std::memory_order_acquire) == number || (use() == number && failed());
  }
  /// On the virtual clock of the run, when it was recorded; for those that have waited for it.
  double virtual_time = 0;

 protected:
  std::atomic<std::uint64_t> use_{0};
  std::atomic<std::uint64_t> failed_use_{~std::uint64_t{0}};  ///< the last one that has failed
};

/// One use of an event. It stays true when the event is used again: the work is over then.
struct Moment {
  std::shared_ptr<Event> event;
  std::uint64_t use = 0;
  const Queue* queue = nullptr;  ///< that has recorded it
  bool reads = false;            ///< of what only reads: that it failed is no matter to others

  bool over() const { return event == nullptr || event->use() != use || event->done(); }
  bool failed() const { return !reads && event != nullptr && event->failed_in(use); }
};

}  // namespace towerflow
