#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "core/device/queue.h"

namespace towerflow {

/// What asynchronous queues still do with a variable: the write at which its value is ready, and
/// the reads since then. Used under the lock of the variable, shared for a read and exclusive for a
/// write.
class PendingAccesses {
 public:
  /// Lets what `queue` does next come after the write, and where it `writes` after the reads too.
  void await(Queue& queue, bool writes, Cancellation& cancellation) {
    if (any_.load(std::memory_order_acquire)) await_all(queue, writes, cancellation);
  }
  /// Takes note of an access that a queue has enqueued.
  void add(Moment access, bool writes);
  /// Forgets the write if it is one of this queue, which has not done it; whoever has waited for it
  /// by then fails too. Returns whether it was.
  bool forget_write(const Queue& queue);

 private:
  void await_all(Queue& queue, bool writes, Cancellation& cancellation);

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  Moment write_;
  std::vector<Moment> reads_;  // the last of each queue
};

}  // namespace towerflow
