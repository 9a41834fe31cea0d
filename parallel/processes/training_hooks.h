#pragma once

#include <functional>
#include <memory>

#include "core/runtime/session.h"
#include "parallel/processes/group.h"
#include "train/session_run_hook.h"

namespace towerflow::parallel::processes {
class MeanExchange;
}

namespace towerflow::parallel::types {

/// Gives the global variables their values of process 0 before the first step.
/// (horovod.tensorflow.BroadcastGlobalVariablesHook)
class BroadcastGlobalVariablesHook : public train::SessionRunHook {
 public:
  void after_create_session(train::SessionRunContext& context, train::Coordinator& coord) override;
};

/// Ends the training in all processes after the same step, once one of them asks for it: a process
/// that ended alone would leave the others waiting for its gradients.
class StopTogetherHook : public train::SessionRunHook {
 public:
  /// `asks` is called before each step, and returns whether this process wants no step after it.
  explicit StopTogetherHook(std::function<bool()> asks) : asks_(std::move(asks)) {}
  train::SessionRunArgs before_run(train::SessionRunContext& context) override;
  void after_run(train::SessionRunContext& context, const train::SessionRunValues& values) override;
  /// Returns whether the training ended because a process asked for it.
  bool asked() const { return asked_; }

 private:
  std::function<bool()> asks_;
  std::shared_ptr<processes::MeanExchange> votes_;
  bool asked_ = false;
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Gives the global variables of the default graph the values that they have in process 0 of
/// `process_group()`: those of a checkpoint, or initial values. Run it in every process, with all
/// these variables initialized, before the first step.
///
/// errors   ValueError: another process has other variables, naming the first difference;
///          TypeError: a variable of strings; those of ProcessGroup
/// source   horovod.tensorflow.broadcast_global_variables
void broadcast_global_variables(Session& session, Site site = Site::current());

}  // namespace towerflow::parallel
