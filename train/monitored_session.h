#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/session_run_hook.h"
#include "train/training_folder.h"

namespace towerflow::train::types {

struct MonitoredTrainingSessionOptions {
  /// Where checkpoints are kept and gone on from, and summaries written; nothing is when empty.
  TrainingFolder checkpoint_dir{};
  std::vector<std::shared_ptr<SessionRunHook>> hooks{};
  /// Seconds between checkpoints, or steps; 0 steps: one at the end alone. 600 seconds when neither
  /// is given.
  std::optional<double> save_checkpoint_secs{};
  std::optional<std::int64_t> save_checkpoint_steps{};
  std::vector<std::shared_ptr<CheckpointSaverListener>> saver_listeners{};
  std::int64_t save_summaries_steps = 100;  ///< 0 for no summaries
  std::int64_t log_step_count_steps = 100;  ///< 0 for no messages about the rate
  ConfigProto config{};
  double stop_grace_period_secs = 120;
  /// What TensorFlow's Scaffold holds, with what is meant when they are not given: initializers of
  /// all variables, and a Saver of them and of the position of the input.
  std::optional<Operation> init_op{};
  std::optional<Saver> saver{};
  /// The variable that counts the steps; the graph's own when not given.
  std::optional<Variable> global_step{};
  /// The files that the input reads: where a checkpoint was of others, the input starts over.
  std::vector<std::string> input_files{};
};

/// The session of a training: it initialises the variables or goes on from the newest checkpoint,
/// the position of the input included, runs the threads that fill queues, calls hooks around each
/// run, saves checkpoints and summaries, and ends all of that in order.
/// (tf.train.MonitoredTrainingSession)
///
///     tf::with(tf::train::MonitoredTrainingSession({.checkpoint_dir = "runs/a"}), [&](auto& sess)
///     {
///       while (!sess.should_stop()) sess.run(train_op);
///     });
///
/// The hooks that it is given come before those for messages, summaries and checkpoints, so that
/// what NanTensorHook refuses is not saved. Without `stop`, which `with` calls, the destructor
/// ends the threads, but no hook's `end` is called. For one thread.
///
/// errors   what TrainingFolder, Session and Saver throw; ValueError: an option out of range;
///          RuntimeError: a checkpoint_dir, and no variable that counts the steps;
///          DataLossError: a damaged checkpoint, or input that has changed since
class MonitoredTrainingSession : public RunForms<MonitoredTrainingSession> {
 public:
  explicit MonitoredTrainingSession(MonitoredTrainingSessionOptions options = {});
  ~MonitoredTrainingSession();
  MonitoredTrainingSession(const MonitoredTrainingSession&) = delete;
  MonitoredTrainingSession& operator=(const MonitoredTrainingSession&) = delete;

  /// Whether the training has ended: a hook asked for it, the input is at its end, or a thread
  /// failed.
  bool should_stop() const;

  /// Runs a step as `Session::run` does, in any of its forms, and the hooks around it. Throws
  /// OutOfRangeError at the end of the input, and RuntimeError once the training has ended.
  std::vector<Array> run(std::span<const Fetch> fetches, const Feeds& feeds = {});
  using RunForms<MonitoredTrainingSession>::run;

  /// The count of steps now; the runs of this session where no variable counts.
  std::int64_t global_step() const;

  /// Ends the training: the hooks end unless there was an error, the threads are joined. Throws the
  /// first error of a thread, of a run or of a hook. The session itself stays open for a last look;
  /// a second call does nothing.
  void stop();
  /// The same, and closes the session.
  void close();
  /// Takes note of an error of the program's own: `stop` and `close` then throw it, and no hook
  /// ends.
  void fail(std::exception_ptr error);

  /// The session without hooks, for runs that are no steps. (raw_session)
  Session& raw_session();

 private:
  const std::unique_ptr<MonitoredSessionState> state_;
};

}  // namespace towerflow::train::types

namespace towerflow {

/// Runs `body(session)` and stops the training, as Python's `with` does: the end of the input ends
/// the body, any other error of it is thrown once the threads are joined.
template <class Body>
void with(train::MonitoredTrainingSession& session, Body&& body) {
  try {
    body(session);
  } catch (const errors::OutOfRangeError&) {
    // All has been read.
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
