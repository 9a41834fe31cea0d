#include "ops/data_flow/source_turns.h"

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow {

void SourceTurns::remove_thread(std::size_t member) {
  std::lock_guard lock(mutex_);
  --live_[member];
  if (next_ == member && live_[member] == 0 && !busy_) advance_turn();
  changed_.notify_all();
}

void SourceTurns::dissolve() {
  std::lock_guard lock(mutex_);
  dissolved_ = true;
  changed_.notify_all();
}

bool SourceTurns::live() const {
  std::lock_guard lock(mutex_);
  return !dissolved_ &&
         std::any_of(live_.begin(), live_.end(), [](std::size_t threads) { return threads > 0; });
}

bool SourceTurns::may_take_turn(std::size_t member) const {
  return dissolved_ || live_[member] == 0 || (next_ == member && !busy_);
}

/// Passes the turn to the next operation that has threads, if any.
void SourceTurns::advance_turn() {
  for (std::size_t step = 1; step <= live_.size(); ++step) {
    const std::size_t member = (next_ + step) % live_.size();
    if (live_[member] == 0) continue;
    next_ = member;
    return;
  }
}

SourceTurns::Turn::Turn(SourceTurns& turns, std::size_t member, const QueueCaller& caller)
    : turns_(turns) {
  const auto take_turn = [&] {  // called under the lock
    held_ = !turns_.dissolved_ && turns_.live_[member] > 0;
    turns_.busy_ = turns_.busy_ || held_;
  };
  {
    std::lock_guard lock(turns_.mutex_);
    if (turns_.may_take_turn(member)) {
      take_turn();
      return;
    }
  }
  const ThreadPool::Blocked idle(caller.pool);
  bool cancelled = false;
  const CancellationCallback wake(caller.cancellation, [&] {
    std::lock_guard lock(turns_.mutex_);
    cancelled = true;
    turns_.changed_.notify_all();
  });
  // Unlocks before `wake` is destroyed, which waits for a callback in progress.
  std::unique_lock lock(turns_.mutex_);
  turns_.changed_.wait(lock, [&] { return turns_.may_take_turn(member) || cancelled; });
  if (cancelled) throw errors::CancelledError("waiting for a turn to read was cancelled");
  take_turn();
}

SourceTurns::Turn::~Turn() {
  if (!held_) return;
  std::lock_guard lock(turns_.mutex_);
  turns_.busy_ = false;
  if (turns_.live_[turns_.next_] == 0) turns_.advance_turn();
  turns_.changed_.notify_all();
}

Ticket SourceTurns::Turn::finish() {
  if (!held_) return {};
  Ticket ticket(turns_.line_, {});
  std::lock_guard lock(turns_.mutex_);
  held_ = false;
  turns_.busy_ = false;
  turns_.advance_turn();
  turns_.changed_.notify_all();
  return ticket;
}

NodeTurns& NodeTurns::of(ResourceStore& resources, const std::string& node) {
  return resources.resource<NodeTurns>(name_of(node), [] { return std::make_unique<NodeTurns>(); });
}

NodeTurns::Assigned NodeTurns::find(ResourceStore& resources, const std::string& place) {
  auto* found = resources.find_resource<NodeTurns>(place);
  if (found == nullptr) return {};
  std::lock_guard lock(found->mutex_);
  return found->assigned_;
}

void NodeTurns::assign(Assigned assigned) {
  std::lock_guard lock(mutex_);
  if (assigned_.turns != nullptr && assigned_.turns != assigned.turns && assigned_.turns->live()) {
    assigned_.turns->dissolve();
    assigned.turns->dissolve();
  }
  assigned_ = std::move(assigned);
}

}  // namespace towerflow
