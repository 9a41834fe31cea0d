#include "core/device/pending_accesses.h"

#include <algorithm>
#include <utility>

namespace towerflow {

void PendingAccesses::await_all(Queue& queue, bool writes, Cancellation& cancellation) {
  std::lock_guard lock(mutex_);
  const auto await = [&](const EventUse& moment) {
    // A queue's own work is in order already.
    const bool needed = !moment.over() || moment.failed();
    if (needed && moment.queue != &queue) queue.wait(moment, cancellation);
  };
  if (!writes_.empty()) await(writes_.back().access);
  if (writes) std::for_each(reads_.begin(), reads_.end(), await);
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
