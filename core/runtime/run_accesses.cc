#include "core/runtime/run_accesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/error.h"

namespace towerflow::types {

void Interleaving::replay() {
  const std::lock_guard lock(mutex_);
  replaying_ = true;
  broken_ = false;
  for (auto& [name, object] : objects_) object.now = {};
}

bool Interleaving::replays() const {
  const std::lock_guard lock(mutex_);
  return replaying_;
}

std::size_t Interleaving::accesses() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [run, turns] : runs_) {
    for (const auto& [object, list] : turns) count += list.size();
  }
  return count;
}

bool Interleaving::contains(std::int64_t run) const {
  const std::lock_guard lock(mutex_);
  return runs_.contains(run);
}

bool Interleaving::has_failed(std::int64_t run) const {
  const std::lock_guard lock(mutex_);
  return failed_.contains(run);
}

void Interleaving::abandon(std::int64_t run) {
  {
    const std::lock_guard lock(mutex_);
    if (replaying_ && runs_.contains(run)) broken_ = true;
  }
  moved_.notify_all();
}

}  // namespace towerflow::types

namespace towerflow {

bool RunAccesses::is_turn(const std::vector<Access>& accesses) const {
  const auto recorded = interleaving_->runs_.find(run_);
  return std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    const auto missing = [&] {
      return errors::FailedPreconditionError(
          fmt::format("run {} accesses {} more often than the recorded run did", run_,
                      access.object),
          {.hint = "replay the runs that were recorded, from the same state"});
    };
    if (recorded == interleaving_->runs_.end()) throw missing();
    const auto turns = recorded->second.find(access.object);
    const auto next = next_.find(access.object);
    const std::size_t number = next == next_.end() ? 0 : next->second;
    if (turns == recorded->second.end() || number >= turns->second.size()) throw missing();
    const Interleaving::Turn& turn = turns->second[number];
    const Interleaving::Turn& now = interleaving_->objects_[access.object].now;
    return now.writes == turn.writes && (!access.writes || now.reads == turn.reads);
  });
}

bool RunAccesses::has_taken_all() const {
  const auto recorded = interleaving_->runs_.find(run_);
  if (recorded == interleaving_->runs_.end()) return true;
  const Interleaving::Turns& turns = recorded->second;
  return std::all_of(turns.begin(), turns.end(), [&](const auto& of) {
    const auto taken = next_.find(of.first);
    return taken != next_.end() && taken->second == of.second.size();
  });
}

void RunAccesses::await_turn(const std::vector<Access>& accesses, Cancellation& cancellation) {
  if (interleaving_ == nullptr) return;
  const CancellationCallback wake(cancellation, [&] {
    { const std::lock_guard lock(interleaving_->mutex_); }
    interleaving_->moved_.notify_all();
  });
  std::unique_lock lock(interleaving_->mutex_);
  if (!interleaving_->replaying_) return;
  interleaving_->moved_.wait(lock, [&] {
    return cancellation.cancelled() || interleaving_->broken_ || is_turn(accesses);
  });
  if (cancellation.cancelled()) throw errors::CancelledError("the run was cancelled");
  if (interleaving_->broken_ && !is_turn(accesses)) {
    throw errors::CancelledError("another run of the replayed interleaving failed");
  }
}

void RunAccesses::abandon() {
  if (interleaving_ == nullptr) return;
  {
    const std::lock_guard lock(interleaving_->mutex_);
    if (!interleaving_->replaying_) {
      interleaving_->failed_.insert(run_);
    } else if (!has_taken_all()) {  // the recorded run may have failed at the same point
      interleaving_->broken_ = true;
    }
  }
  interleaving_->moved_.notify_all();
}

void RunAccesses::note(const std::vector<Access>& accesses) {
  if (interleaving_ == nullptr) return;
  {
    const std::lock_guard lock(interleaving_->mutex_);
    for (const Access& access : accesses) {
      Interleaving::Turn& now = interleaving_->objects_[access.object].now;
      if (!interleaving_->replaying_) {
        interleaving_->runs_[run_][access.object].push_back(now);
      }
      ++next_[access.object];
      if (access.writes)
        now = {now.writes + 1, 0};
      else
        ++now.reads;
    }
  }
  interleaving_->moved_.notify_all();
}

std::mutex* RunAccesses::exclusive(const std::string& object) {
  if (interleaving_ == nullptr) return nullptr;
  const std::lock_guard lock(interleaving_->mutex_);
  return &interleaving_->objects_[object].exclusive;
}

void RunAccesses::note_read(const std::string& variable, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  seen_.try_emplace(variable, Seen{version, 0});
}

void RunAccesses::note_write(const std::string& variable, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  const auto seen = seen_.find(variable);
  if (seen == seen_.end()) return;
  const auto others = version - seen->second.version - seen->second.own;
  staleness_ = std::max(staleness_, static_cast<std::int64_t>(others));
  ++seen->second.own;
}

std::int64_t RunAccesses::staleness() const {
  const std::lock_guard lock(mutex_);
  return staleness_;
}

}  // namespace towerflow
