#include "core/device/pending_accesses.h"

#include <algorithm>
#include <utility>

namespace towerflow {

void PendingAccesses::await_all(Queue& queue, bool writes, Cancellation& cancellation) {
  // Waits without the lock, which the thread that has enqueued the awaited work may need before it
  // lets that work begin.
  thread_local std::vector<EventUse> needed;  // keeps its memory: a wait allocates nothing
  struct Cleared {
    ~Cleared() { needed.clear(); }
  } cleared;
  std::unique_lock lock(mutex_);
  const auto add = [&](const EventUse& moment) {
    // A queue's own work is in order already.
    if (moment.queue == &queue) return;
    if (!moment.over() || moment.failed()) needed.push_back(moment);
  };
  if (!writes_.empty()) add(writes_.back().access);
  if (writes) std::for_each(reads_.begin(), reads_.end(), add);
  lock.unlock();
  for (const EventUse& moment : needed) queue.wait(moment, cancellation);
  lock.lock();
  std::erase_if(reads_, [](const EventUse& read) { return read.over(); });
  drop_ended_writes();
  has_pending_.store(!writes_.empty() || !reads_.empty(), std::memory_order_release);
}

/// Writes end in order, since each has waited for the one before it.
void PendingAccesses::drop_ended_writes() {
  const auto first = std::find_if(writes_.begin(), writes_.end(), [](const Write& write) {
    return !write.access.over() || write.access.failed();
  });
  writes_.erase(writes_.begin(), first);
}

void PendingAccesses::add_read(EventUse access) {
  access.reads = true;
  std::lock_guard lock(mutex_);
  has_pending_.store(true, std::memory_order_release);
  const auto same = std::find_if(reads_.begin(), reads_.end(),
                                 [&](const EventUse& read) { return read.queue == access.queue; });
  if (same != reads_.end())
    *same = std::move(access);
  else
    reads_.push_back(std::move(access));
}

void PendingAccesses::add_write(EventUse access, bool valid) {
  std::lock_guard lock(mutex_);
  has_pending_.store(true, std::memory_order_release);
  drop_ended_writes();
  writes_.push_back({std::move(access), valid});
  reads_.clear();
}

std::optional<bool> PendingAccesses::drop_failed_writes() {
  std::lock_guard lock(mutex_);
  std::optional<bool> valid;
  while (!writes_.empty() && writes_.back().access.failed()) {
    valid = writes_.back().valid;
    writes_.pop_back();
  }
  return valid;
}

}  // namespace towerflow
