#include "core/device/pending_accesses.h"

#include <algorithm>
#include <utility>

namespace towerflow {

void PendingAccesses::await_all(Queue& queue, bool writes, Cancellation& cancellation) {
  std::lock_guard lock(mutex_);
  const auto await = [&](const Moment& moment) {
    // A queue's own work is in order already.
    const bool needed = !moment.over() || moment.failed();
    if (needed && moment.queue != &queue) queue.wait(moment, cancellation);
  };
  await(write_);
  if (writes) std::for_each(reads_.begin(), reads_.end(), await);
  std::erase_if(reads_, [](const Moment& read) { return read.over(); });
  if (write_.over() && !write_.failed()) write_ = {};
  any_.store(write_.event != nullptr || !reads_.empty(), std::memory_order_release);
}

void PendingAccesses::add(Moment access, bool writes) {
  access.reads = !writes;
  std::lock_guard lock(mutex_);
  any_.store(true, std::memory_order_release);
  if (writes) {
    write_ = std::move(access);
    reads_.clear();
    return;
  }
  const auto same = std::find_if(reads_.begin(), reads_.end(),
                                 [&](const Moment& read) { return read.queue == access.queue; });
  if (same != reads_.end())
    *same = std::move(access);
  else
    reads_.push_back(std::move(access));
}

bool PendingAccesses::forget_write(const Queue& queue) {
  std::lock_guard lock(mutex_);
  if (write_.event == nullptr || write_.queue != &queue) return false;
  write_ = {};
  return true;
}

}  // namespace towerflow
