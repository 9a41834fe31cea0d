#pragma once

#include <memory>
#include <vector>

#include "core/runtime/executor.h"
#include "core/runtime/run_accesses.h"

namespace towerflow {

/// Locks the variables of one instruction: shared to read, exclusive to write.
class VariableLocks {
 public:
  /// If the run is watched, waits first until it is its turn, and notes the accesses. Flushes the
  /// queue of the calling thread before it waits.
  VariableLocks(const Execution& run, const Instruction& instruction, Queue& queue);
  ~VariableLocks();
  VariableLocks(const VariableLocks&) = delete;
  VariableLocks& operator=(const VariableLocks&) = delete;

  void check_initialized() const;
  /// Makes later work of this queue wait for work of other queues that still uses the variables.
  void await_pending(Queue& queue, Cancellation& cancellation) const;
  /// Notes that the queue has enqueued the instruction, followed by `access`. A replica has no
  /// valid value if changing it fails.
  void add_pending(const Queue& queue, const std::shared_ptr<Event>& access,
                   bool changes_replica) const;
  void mark_written(std::uint64_t write) const;

  /// For an instruction that fills a replica: returns whether the source is initialized and the
  /// replica does not have its current value.
  bool is_stale() const;
  void mark_filled() const;

 private:
  VariableStorage& storage(const VariableUse& use) const { return frame_.variable(use.variable); }
  VariableStorage& filled() const { return storage(uses_[uses_[0].writes ? 0 : 1]); }
  const VariableStorage& source() const { return storage(uses_[uses_[0].writes ? 1 : 0]); }

  std::vector<RunAccesses::Access> accesses(const Plan& plan) const;
  void note_versions(const Plan& plan, RunAccesses& accesses) const;
  void unlock() const;

  const Frame& frame_;
  const std::vector<VariableUse>& uses_;
};

}  // namespace towerflow
