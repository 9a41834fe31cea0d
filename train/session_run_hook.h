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

/// What a hook adds to the next run. (tf.train.SessionRunArgs)
struct SessionRunArgs {
  std::vector<Fetch> fetches{};
  Feeds feed_dict{};
};

/// What came of it. (tf.train.SessionRunValues)
struct SessionRunValues {
  std::vector<Array> results;  ///< of the hook's own fetches, in their order
  double seconds = 0;          ///< how long the run took, hooks not counted
};

/// What a hook sees of the training. (tf.train.SessionRunContext)
class SessionRunContext {
 public:
  Session& session() const;
  /// The count of steps: before a run in `before_run`, after it in `after_run`. The runs of this
  /// session where no variable counts.
  std::int64_t global_step() const;
  /// What the program asked of this run.
  std::span<const Fetch> original_fetches() const;
  /// Ends the training after this run.
  void request_stop();
  bool stop_requested() const;

 private:
  friend class train::MonitoredSessionState;
  explicit SessionRunContext(MonitoredSessionState& state) : state_(&state) {}
  MonitoredSessionState* state_;
};

/// What is done around the runs of a training: MonitoredTrainingSession calls it.
/// (tf.train.SessionRunHook)
///
/// Hooks are called in the order of their list. They get a SessionRunContext where TensorFlow's get
/// the session, since it knows the count of steps as well. What a hook throws ends the training as
/// an error of a run does; what `end` throws is thrown once the other hooks have ended and the
/// threads are joined.
class SessionRunHook {
 public:
  virtual ~SessionRunHook();
  /// Before there is a session: the last time that the graph may be added to.
  virtual void begin() {}
  /// The variables have their values, the input threads run.
  virtual void after_create_session(SessionRunContext& /*context*/, Coordinator& /*coord*/) {}
  virtual SessionRunArgs before_run(SessionRunContext& /*context*/) { return {}; }
  virtual void after_run(SessionRunContext& /*context*/, const SessionRunValues& /*values*/) {}
  /// The training has ended without an error; the input threads still run.
  virtual void end(SessionRunContext& /*context*/) {}
};

}  // namespace towerflow::train::types
