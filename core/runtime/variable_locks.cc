#include "core/runtime/variable_locks.h"

#include <fmt/format.h>

#include <shared_mutex>

#include "core/runtime/variable_version.h"

namespace towerflow {

VariableLocks::VariableLocks(const Execution& run, const Instruction& instruction, Queue& queue)
    : frame_(run.frame), uses_(instruction.variables) {
  std::vector<RunAccesses::Access> all;
  if (run.accesses != nullptr) {
    all = accesses(run.plan);
    queue.flush();
    run.accesses->await_turn(all, run.context.cancellation);
  }
  for (const VariableUse& use : uses_) {
    std::shared_mutex& mutex = storage(use).mutex;
    if (use.writes ? mutex.try_lock() : mutex.try_lock_shared()) continue;
    queue.flush();  // the holder may wait for work of the queue
    if (use.writes)
      mutex.lock();
    else
      mutex.lock_shared();
  }
  if (run.accesses == nullptr) return;
  try {
    run.accesses->note(all);
    note_versions(run.plan, *run.accesses);
  } catch (...) {
    unlock();
    throw;
  }
}

VariableLocks::~VariableLocks() { unlock(); }

void VariableLocks::unlock() const {
  for (const VariableUse& use : uses_) {
    if (use.writes)
      storage(use).mutex.unlock();
    else
      storage(use).mutex.unlock_shared();
  }
}

void VariableLocks::check_initialized() const {
  for (const VariableUse& use : uses_) {
    if (use.needs_value) require_initialized(storage(use));
  }
}

void VariableLocks::await_pending(Queue& queue, Cancellation& cancellation) const {
  for (const VariableUse& use : uses_) {
    storage(use).pending.await(queue, use.writes, cancellation);
  }
}

void VariableLocks::add_pending(const Queue& queue, const std::shared_ptr<Event>& access,
                                bool changes_replica) const {
  for (const VariableUse& use : uses_) {
    VariableStorage& used = storage(use);
    const EventUse moment{access, access->use(), &queue};
    if (!use.writes)
      used.pending.add_read(moment);
    else
      used.pending.add_write(moment,
                             !changes_replica && used.initialized.load(std::memory_order_acquire));
  }
}

void VariableLocks::mark_written(std::uint64_t write) const {
  for (const VariableUse& use : uses_) {
    if (use.writes) mark_changed(storage(use), write);
  }
}

bool VariableLocks::is_stale() const {
  return source().initialized.load(std::memory_order_acquire) && !is_current(filled(), source());
}

void VariableLocks::mark_filled() const { mark_current(filled(), source()); }

std::vector<RunAccesses::Access> VariableLocks::accesses(const Plan& plan) const {
  std::vector<RunAccesses::Access> all;
  for (const VariableUse& use : uses_) {
    const PlanVariable& used = plan.variables[static_cast<std::size_t>(use.variable)];
    std::string object = used.replica ? fmt::format("{}@{}", used.name, used.device) : used.name;
    all.push_back({std::move(object), use.writes});
  }
  return all;
}

void VariableLocks::note_versions(const Plan& plan, RunAccesses& accesses) const {
  for (const VariableUse& use : uses_) {
    const VariableStorage& used = storage(use);
    const std::uint64_t writes = writes_of(used.version.load(std::memory_order_relaxed));
    const bool replica = plan.variables[static_cast<std::size_t>(use.variable)].replica;
    const bool fills = use.writes && replica;
    if (!fills) accesses.note_read(used.name, writes);
    if (use.writes && !replica) accesses.note_write(used.name, writes);
  }
}

}  // namespace towerflow
