#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/runtime/device_set.h"
#include "core/runtime/frame.h"
#include "core/runtime/run_metadata.h"

namespace towerflow {

/// The times of a run, which its loops add to. Any thread may add.
class RunTrace {
 public:
  /// Copies the times of a traced run of `plan`, an iteration of the loop of that name. `owner`
  /// keeps the plan until the trace has been read.
  void add_iteration(std::shared_ptr<const void> owner, const Plan& plan, Frame& frame,
                     const std::string& loop);

  /// Returns what was measured: the instructions of `plan`, queue by queue, then those of each
  /// iteration. Times are seconds since `start`.
  std::vector<NodeStats> stats(const Plan& plan, Frame& frame, const DeviceSet& devices,
                               double start) const;

 private:
  struct Iteration {
    std::shared_ptr<const void> owner;
    const Plan* plan = nullptr;
    std::string loop;
    std::vector<std::vector<Span>> spans;  // per queue and instruction
  };

  mutable std::mutex mutex_;
  std::vector<Iteration> iterations_;
};

}  // namespace towerflow
