#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "core/device/queue.h"

namespace towerflow {

/// The accesses to a variable that asynchronous queues have not finished: the last writes, and the
/// reads since. Used under the variable's lock, shared for a read and exclusive for a write.
class PendingAccesses {
 public:
  /// Makes later work of `queue` wait for the last write and, if it `writes`, for the reads since.
  void await(Queue& queue, bool writes, Cancellation& cancellation) {
    if (has_pending_.load(std::memory_order_acquire)) await_all(queue, writes, cancellation);
  }
  /// Notes a read that a queue has enqueued.
  void add_read(EventUse access);
  /// Notes a write that a queue has enqueued; `valid` tells whether the variable has a value
  /// without it.
  void add_write(EventUse access, bool valid);
  /// Drops the failed writes at the end of the list; queues that waited for them fail too. Returns
  /// whether the variable has a value without them. Returns nullopt if nothing has failed or a
  /// later write is pending, which will fail as well and call this.
  std::optional<bool> drop_failed_writes();

 private:
  struct Write {
    EventUse access;
    bool valid = false;  // whether there is a value without this write and later ones
  };
  void await_all(Queue& queue, bool writes, Cancellation& cancellation);
  void drop_ended_writes();

  std::atomic<bool> has_pending_{false};
  std::mutex mutex_;
  std::vector<Write> writes_;  // in order, each waits for the one before; without those that ended
  std::vector<EventUse> reads_;  // the last read of each queue
};

}  // namespace towerflow
