#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/device/cancellation.h"

namespace towerflow {

class Queue;

/// A point in the order of the queue that records it. Other queues and host threads can wait for
/// it. Reused in every run of its frame.
///
/// An event is recorded when the queue has received the record command, and done when all work
/// before it has ended. Work that waits for a recorded event is certain to start, since everything
/// that is enqueued ends.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  virtual ~Event() = default;

  /// Prepares the event for a run: counts the use, then opens the event, which is neither recorded
  /// nor done. Work of the previous use has ended.
  virtual void reset() = 0;
  virtual bool done() const = 0;
  /// For an event that is done: returns whether work before it failed or was skipped.
  virtual bool failed() const = 0;
  /// Waits until the event is recorded; returns early if the run is cancelled.
  virtual void await_recorded(Cancellation& cancellation) = 0;
  /// Waits until the work of use number `use` has ended; returns early if `cancellation` is given
  /// and the run is cancelled.
  virtual void await_done(std::uint64_t use, Cancellation* cancellation) = 0;

  /// Returns the number of the current use: how often the event has been reset.
  std::uint64_t use() const { return use_.load(std::memory_order_acquire); }
  /// Returns whether a use failed, even if the event has been reused since.
  bool failed_in(std::uint64_t number) const {
    return failed_use_.load(std::memory_order_acquire) == number || (use() == number && failed());
  }
  /// The largest number of waits for other queues that lead to the event in its run, one after
  /// another. An event never waits for one that is as deep or deeper.
  int depth = 0;
  /// Time on the run's virtual clock when the event was recorded. Queues that wait for the event
  /// advance to it.
  double virtual_time = 0;

 protected:
  std::atomic<std::uint64_t> use_{0};
  std::atomic<std::uint64_t> failed_use_{~std::uint64_t{0}};  ///< the last use that failed
};

/// One use of an event. It stays valid when the event is reused: the work has ended then.
struct EventUse {
  std::shared_ptr<Event> event;
  std::uint64_t use = 0;
  const Queue* queue = nullptr;  ///< the queue that recorded it
  bool reads = false;            ///< of work that only reads: its failure does not affect others

  /// Asks for the state first: `reset` counts the new use before it opens the event, so that an
  /// event which is reused at this moment is not taken for one that is still awaited.
  bool over() const { return event == nullptr || event->done() || event->use() != use; }
  bool failed() const { return !reads && event != nullptr && event->failed_in(use); }
};

}  // namespace towerflow
