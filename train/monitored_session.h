#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/scaffold.h"
#include "train/session_run_hook.h"
#include "train/training_folder.h"

namespace towerflow::train::types {

struct MonitoredTrainingSessionOptions {
  /// Folder for checkpoints, to save and to resume from, and for summaries; neither if empty.
  TrainingFolder checkpoint_dir{};
  std::vector<std::shared_ptr<SessionRunHook>> hooks{};
  /// Seconds or steps between checkpoints; 600 seconds if neither is given, and only one at the end
  /// for 0 steps.
  std::optional<double> save_checkpoint_secs{};
  std::optional<std::int64_t> save_checkpoint_steps{};
  std::vector<std::shared_ptr<CheckpointSaverListener>> saver_listeners{};
  /// Steps or seconds between summaries: 100 steps if neither is given; 0 steps for no summaries.
  std::optional<std::int64_t> save_summaries_steps{};
  std::optional<double> save_summaries_secs{};
  std::int64_t log_step_count_steps = 100;  ///< 0 for no messages about steps per second
  ConfigProto config{};
  double stop_grace_period_secs = 120;
  /// Without a scaffold: what initializes variables before a checkpoint is restored, and a Saver.
  /// By default the initializers of global variables, followed after the checkpoint by those of
  /// local ones, and a Saver of the variables and the input positions.
  std::optional<Operation> init_op{};
  std::optional<Saver> saver{};
  /// How to initialize and save the graph; finalized first. As in TensorFlow, what a checkpoint
  /// restores is then not initialized before.
  std::optional<Scaffold> scaffold{};
  std::string summary_dir{};  ///< folder for summaries; checkpoint_dir if empty
  /// The variable that counts the steps; by default the graph's global step.
  std::optional<Variable> global_step{};
  /// The files that the input reads. If a checkpoint's position is in another one, the input starts
  /// over.
  std::vector<std::string> input_files{};
};

/// A session for training: initializes the variables or resumes from the newest checkpoint,
/// including the input position; runs the threads that fill queues; calls hooks around each run;
/// saves checkpoints and summaries; and ends all of this in order.
/// (tf.train.MonitoredTrainingSession)
///
///     tf::with(tf::train::MonitoredTrainingSession({.checkpoint_dir = "runs/a"}), [&](auto& sess)
///     {
///       while (!sess.should_stop()) sess.run(train_op);
///     });
///
/// The given hooks are called before those for messages, summaries and checkpoints, so that steps
/// rejected by NanTensorHook are not saved. If `stop`, which `with` calls, was not called, the
/// destructor ends the threads but does not call `end` of the hooks. Not thread-safe.
///
/// errors   those of TrainingFolder, Session, Saver and Scaffold; ValueError: an option out of
///          range, or init_op or saver besides a scaffold; RuntimeError: a checkpoint_dir without a
///          global step, a scaffold that leaves variables without values; DataLossError: a damaged
///          checkpoint, or input that has changed since
class MonitoredTrainingSession : public RunOverloads<MonitoredTrainingSession> {
 public:
  explicit MonitoredTrainingSession(MonitoredTrainingSessionOptions options = {});
  ~MonitoredTrainingSession();
  MonitoredTrainingSession(const MonitoredTrainingSession&) = delete;
  MonitoredTrainingSession& operator=(const MonitoredTrainingSession&) = delete;

  /// Returns whether the training has ended: a hook requested it, the input has ended, or a run or
  /// a thread failed.
  bool should_stop() const;

  /// Runs a step like `Session::run`, in any of its forms, with the hooks around it. Throws
  /// OutOfRangeError at the end of the input, and RuntimeError if the training has already ended.
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds = {});
  using RunOverloads<MonitoredTrainingSession>::run;

  /// Returns the current step count; without a global step, the number of runs of this session.
  std::int64_t global_step() const;

  /// Ends the training: calls `end` of the hooks unless there was an error, and joins the threads.
  /// Throws the first error of a thread, a run or a hook. The session stays open, for example for a
  /// final evaluation; a second call does nothing.
  void stop();
  /// Calls `stop`, then closes the session.
  void close();
  /// Records an error of the program: `stop` and `close` then throw it and do not call `end` of the
  /// hooks.
  void fail(std::exception_ptr error);

  /// Returns the session without hooks, for runs that are not steps. (raw_session)
  Session& raw_session();

 private:
  const std::unique_ptr<MonitoredSessionState> state_;
};

}  // namespace towerflow::train::types

namespace towerflow {

/// Runs `body(session)` and stops the training, like Python's `with`. The end of the input ends the
/// body normally; any other error is thrown after the threads are joined.
template <class Body>
void with(train::MonitoredTrainingSession& session, Body&& body) {
  try {
    body(session);
  } catch (const errors::OutOfRangeError&) {
    // The input has ended.
  } catch (...) {
    session.fail(std::current_exception());
  }
  session.stop();
}
template <class Body>
void with(train::MonitoredTrainingSession&& session, Body&& body) {
  with(session, std::forward<Body>(body));
}

}  // namespace towerflow
