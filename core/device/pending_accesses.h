#pragma once

#include <atomic>
#include <mutex>
#include <optional>
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
  /// Takes note of a read that a queue has enqueued.
  void add_read(Moment access);
  /// The same of a write; `valid` says whether there is a value without it.
  void add_write(Moment access, bool valid);
  /// Forgets the writes that have failed, the last one among them; whoever has waited for them
  /// fails too. Returns whether there is a value without them; nullopt where nothing has failed, or
  /// somebody writes behind it, who will fail and ask.
  std::optional<bool> forget_failed();

 private:
  struct Write {
    Moment access;
    bool valid = false;  // whether there is a value without it and those behind it
  };
  void await_all(Queue& queue, bool writes, Cancellation& cancellation);
  void drop_ended();

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Write> writes_;  // each after those before it; of those that have ended none
  std::vector<Moment> reads_;  // the last of each queue
};

}  // namespace towerflow
