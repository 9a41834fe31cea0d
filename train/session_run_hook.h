#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/runtime/session.h"
#include "train/coordinator.h"

namespace towerflow::train {

class MonitoredSessionState;

}  // namespace towerflow::train

namespace towerflow::train::types {

/// The fetches and feeds that a hook adds to the next run. (tf.train.SessionRunArgs)
struct SessionRunArgs {
  std::vector<Fetch> fetches{};
  Feeds feed_dict{};
};

/// The results of a run that a hook gets. (tf.train.SessionRunValues)
struct SessionRunValues {
  std::vector<Array> results;  ///< values of the hook's own fetches, in order
  double seconds = 0;          ///< duration of the run, without hooks
};

/// A hook's view of the training. (tf.train.SessionRunContext)
class SessionRunContext {
 public:
  Session& session() const;
  /// Returns the step count: that before the run in `before_run`, that after it in `after_run`.
  /// Without a global step, counts the runs of this session.
  std::int64_t global_step() const;
  /// Returns the fetches that the program asked for in this run.
  std::span<const Fetch> original_fetches() const;
  /// Ends the training after this run.
  void request_stop();
  bool stop_requested() const;

 private:
  friend class train::MonitoredSessionState;
  explicit SessionRunContext(MonitoredSessionState& state) : state_(&state) {}
  MonitoredSessionState* state_;
};

/// Callbacks of MonitoredTrainingSession around the runs of a training. (tf.train.SessionRunHook)
///
/// Hooks are called in list order. They get a SessionRunContext where TensorFlow's hooks get the
/// session, because it also provides the step count. An exception from a hook ends the training
/// like an error of a run; one from `end` is thrown after the other hooks have ended and the
/// threads are joined.
class SessionRunHook {
 public:
  virtual ~SessionRunHook();
  /// Called before the session is created; the last chance to add to the graph.
  virtual void begin() {}
  /// Called when the variables have their values and the input threads are running.
  virtual void after_create_session(SessionRunContext& /*context*/, Coordinator& /*coord*/) {}
  virtual SessionRunArgs before_run(SessionRunContext& /*context*/) { return {}; }
  virtual void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) {}
  /// Called when the training has ended without an error; the input threads are still running.
  virtual void end(SessionRunContext& /*context*/) {}
};

}  // namespace towerflow::train::types
