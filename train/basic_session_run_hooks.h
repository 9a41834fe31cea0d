#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/session_run_hook.h"
#include "train/summary/file_writer.h"
#include "train/training_folder.h"

namespace towerflow::train::types {

/// Decides when a hook acts: when the step count reaches or passes a multiple of `steps`, or every
/// `seconds` seconds. With `steps`, a run resumed from a checkpoint therefore acts at the same
/// steps as an uninterrupted one.
class HookTimer {
 public:
  /// Throws ValueError unless exactly one of `steps` and `seconds` is given and positive.
  HookTimer(const char* hook, std::optional<std::int64_t> steps, std::optional<double> seconds);
  /// Returns whether the timer is due at `step`; `before` is the step of the previous call.
  bool is_due(std::int64_t before, std::int64_t step);
  /// The same for the first call: due, unless `step` is not a multiple of the given steps.
  bool is_due_first(std::int64_t step);

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<std::int64_t> steps_;
  std::optional<double> seconds_;
  Clock::time_point last_ = Clock::now();
};

/// The error thrown by NanTensorHook. (tf.train.NanLossDuringTrainingError)
class NanLossDuringTrainingError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

struct StopAtStepOptions {
  std::optional<std::int64_t> num_steps{};  ///< number of further steps
  std::optional<std::int64_t> last_step{};  ///< step count to stop at
};

/// Ends the training after a number of steps, or at once if the last step was already made, where
/// TensorFlow's hook makes one more. (tf.train.StopAtStepHook)
class StopAtStepHook : public SessionRunHook {
 public:
  /// Throws ValueError unless exactly one of the options is given.
  explicit StopAtStepHook(StopAtStepOptions options);
  void after_create_session(SessionRunContext& context, Coordinator& coord) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StopAtStepOptions options_;
  std::int64_t last_step_ = 0;
};

struct NanTensorOptions {
  bool fail_on_nan_loss = true;  ///< otherwise warns and ends the training normally
  std::string what{};            ///< the tensor's description in messages; by default its name
  std::string hint{};            ///< of the error
};

/// Ends the training if a loss is not finite, before a checkpoint is saved: later values would not
/// be finite either. TensorFlow's hook checks only for NaN. (tf.train.NanTensorHook)
class NanTensorHook : public SessionRunHook {
 public:
  explicit NanTensorHook(const Tensor& loss_tensor, NanTensorOptions options = {})
      : loss_(loss_tensor), options_(std::move(options)) {}
  SessionRunArgs before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  Tensor loss_;
  NanTensorOptions options_;
  std::int64_t before_ = 0;
};

struct LoggingTensorOptions {
  ByName by_name = ByName();
  std::optional<std::int64_t> every_n_iter{};
  std::optional<double> every_n_secs{};
  bool at_end = false;  ///< logs the last values at the end
  /// Returns the line to log, given the values in the order of the tensors.
  std::function<std::string(std::span<const Array>)> formatter{};
};

/// Logs values: "loss = 0.25, step = 100 (0.310 sec)". (tf.train.LoggingTensorHook)
class LoggingTensorHook : public SessionRunHook {
 public:
  /// Labels values with the tensors' names. Throws ValueError unless exactly one of every_n_iter
  /// and every_n_secs is given, or only at_end.
  explicit LoggingTensorHook(const std::vector<Tensor>& tensors, LoggingTensorOptions options);
  explicit LoggingTensorHook(std::vector<std::pair<std::string, Tensor>> tensors,
                             LoggingTensorOptions options);
  SessionRunArgs before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(SessionRunContext& context) override;

 private:
  void log(std::span<const Array> values);

  std::vector<std::pair<std::string, Tensor>> tensors_;
  LoggingTensorOptions options_;
  std::optional<HookTimer> timer_;
  std::int64_t runs_ = 0;
  bool due_ = false;
  std::optional<std::chrono::steady_clock::time_point> logged_;
  std::vector<Array> last_;
};

struct StepCounterOptions {
  std::optional<std::int64_t> every_n_steps = 100;
  std::optional<double> every_n_secs{};  ///< replaces every_n_steps, which must be std::nullopt
  std::shared_ptr<summary::FileWriter> summary_writer{};  ///< if given, gets "global_step/sec"
};

/// Logs the number of steps per second. (tf.train.StepCounterHook)
class StepCounterHook : public SessionRunHook {
 public:
  explicit StepCounterHook(StepCounterOptions options = {});
  void after_create_session(SessionRunContext& context, Coordinator& coord) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StepCounterOptions options_;
  HookTimer timer_;
  std::int64_t seen_ = 0, interval_start_step_ = 0;
  std::chrono::steady_clock::time_point interval_start_time_{};
};

struct CheckpointSaverOptions {
  /// Seconds or steps between checkpoints; with neither, there is only one at the end.
  std::optional<double> save_secs{};
  std::optional<std::int64_t> save_steps{};
  std::optional<Saver> saver{};
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners{};
};

/// Saves checkpoints, including one at the end unless the last step is already saved. TensorFlow's
/// hook also saves before the first step. (tf.train.CheckpointSaverHook)
class CheckpointSaverHook : public SessionRunHook {
 public:
  explicit CheckpointSaverHook(TrainingFolder checkpoint_dir, CheckpointSaverOptions options = {});
  void begin() override;
  void after_create_session(SessionRunContext& context, Coordinator& coord) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(SessionRunContext& context) override;

 private:
  void save(SessionRunContext& context);

  TrainingFolder folder_;
  CheckpointSaverOptions options_;
  std::optional<HookTimer> timer_;
  std::int64_t seen_ = 0, saved_ = 0;
};

struct SummarySaverOptions {
  std::optional<std::int64_t> save_steps{};               ///< steps between summaries,
  std::optional<double> save_secs{};                      ///< or seconds
  std::string output_dir{};                               ///< folder of the event file,
  std::shared_ptr<summary::FileWriter> summary_writer{};  ///< or an existing writer
  std::optional<Tensor> summary_op{};                     ///< by default all summaries of the graph
  /// Numbers a summary with the step count before its run, as programs with their own counter do;
  /// TensorFlow's hook uses the count after the run.
  bool use_step_before_run = false;
};

/// Writes summaries that are computed as part of the steps. (tf.train.SummarySaverHook)
class SummarySaverHook : public SessionRunHook {
 public:
  explicit SummarySaverHook(SummarySaverOptions options);
  void begin() override;
  void after_create_session(SessionRunContext& context, Coordinator& coord) override;
  SessionRunArgs before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(SessionRunContext& context) override;

 private:
  SummarySaverOptions options_;
  HookTimer timer_;
  std::optional<std::int64_t> seen_;
  bool due_ = false;
};

/// Delays the first run until the global step has reached a number, so that workers start one after
/// another. (tf.train.GlobalStepWaiterHook)
class GlobalStepWaiterHook : public SessionRunHook {
 public:
  explicit GlobalStepWaiterHook(std::int64_t wait_until_step) : wait_until_step_(wait_until_step) {}
  /// Throws RuntimeError if there is no global step.
  void begin() override;
  SessionRunArgs before_run(SessionRunContext& context) override;

 private:
  std::int64_t wait_until_step_;
  std::optional<Variable> counter_;
  bool started_ = false;
};

/// Runs operations at the end of the training and keeps their values. (tf.train.FinalOpsHook)
class FinalOpsHook : public SessionRunHook {
 public:
  explicit FinalOpsHook(std::vector<Fetch> final_ops, Feeds final_ops_feed_dict = {})
      : final_ops_(std::move(final_ops)), feeds_(std::move(final_ops_feed_dict)) {}
  /// Throws what the run throws; OutOfRangeError, if it reads the input, with a warning.
  void end(SessionRunContext& context) override;
  /// Returns the values, none before the end.
  const std::vector<Array>& final_ops_values() const { return values_; }

 private:
  std::vector<Fetch> final_ops_;
  Feeds feeds_;
  std::vector<Array> values_;
};

/// Feeds what a function returns before each run. (tf.train.FeedFnHook)
class FeedFnHook : public SessionRunHook {
 public:
  explicit FeedFnHook(std::function<Feeds()> feed_fn) : feed_fn_(std::move(feed_fn)) {}
  SessionRunArgs before_run(SessionRunContext& context) override;

 private:
  std::function<Feeds()> feed_fn_;
};

}  // namespace towerflow::train::types
