#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "core/graph/collections.h"
#include "core/graph/plan_graph.h"

namespace towerflow {

/// Warns, once a session, where it trains and runs nothing of the collection UPDATE_OPS: layers
/// list there what a step has to run beside the optimizer's update, and nothing else runs it.
///
/// A training step is a run of a plan that holds an optimizer's update. Whether any of the listed
/// operations is in a plan of the session is looked at when plans are made, so that runs cost no
/// more than a count; the warning waits for the tenth step, for programs that run them in calls of
/// their own.
class UpdateWatch {
 public:
  /// Looks at a new plan, before passes change it; returns whether its runs are training steps. One
  /// thread at a time.
  bool trains(const PlanGraph& plan, const Collections& collections);
  /// A training step has ended. Safe from several threads.
  void count_step();

 private:
  std::atomic<int> steps_{0};
  std::mutex mutex_;
  bool reached_ = false;                // some listed operation has been in a plan
  std::vector<std::string> unreached_;  // the listed ones otherwise
};

}  // namespace towerflow
