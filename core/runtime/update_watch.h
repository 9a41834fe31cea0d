#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "core/graph/collections.h"
#include "core/graph/plan_graph.h"

namespace towerflow {

/// Logs a warning, once per session, if the session trains but never runs an operation of the
/// collection UPDATE_OPS, nor, in a training step, another that writes the same variables, such as
/// those of `combine_update_ops`. Layers add operations there that a step must run in addition to
/// the optimizer's update, and nothing else runs them.
///
/// A training step is a run of a plan that contains an optimizer's update. Plans are searched for
/// the listed operations when they are made, so a run costs only a counter increment. The warning
/// waits until the tenth step, since programs may run the operations in separate calls.
class UpdateWatch {
 public:
  /// Inspects a new plan before passes change it; returns whether its runs are training steps.
  /// Calls must not overlap.
  bool trains(const PlanGraph& plan, const Collections& collections);
  /// Counts a training step that has ended. Thread-safe.
  void count_step();

 private:
  std::atomic<int> steps_{0};
  std::mutex mutex_;
  bool reached_ = false;                // whether a plan has contained such an operation
  std::vector<std::string> unreached_;  // the listed operations, if none was reached
};

}  // namespace towerflow
