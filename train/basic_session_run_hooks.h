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

/// When a hook is at work: every so many steps, where the count of steps is a multiple of them (or
/// passes one), or every so many seconds. A run that goes on from a checkpoint is therefore due at
/// the steps of one that was not stopped.
class HookTimer {
 public:
  /// Throws ValueError unless one of the two is given, and above 0.
  HookTimer(const char* hook, std::optional<std::int64_t> steps, std::optional<double> seconds);
  /// Returns whether the timer is due at `step`; `before` is the step of the previous call.
  bool is_due(std::int64_t before, std::int64_t step);
  /// The same for the first call: due, except for a step count that `step` is no multiple of.
  bool is_due_first(std::int64_t step);

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<std::int64_t> steps_;
  std::optional<double> seconds_;
  Clock::time_point last_ = Clock::now();
};

/// What NanTensorHook throws. (tf.train.NanLossDuringTrainingError)
class NanLossDuringTrainingError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

struct StopAtStepOptions {
  std::optional<std::int64_t> num_steps{};  ///< as many more steps
  std::optional<std::int64_t> last_step{};  ///< until the count of steps is this
};

/// Ends the training after a number of steps; at once where the last step has been made, for which
/// TensorFlow's makes one more. (tf.train.StopAtStepHook)
class StopAtStepHook : public SessionRunHook {
 public:
  /// Throws ValueError unless one of the options is given.
  explicit StopAtStepHook(StopAtStepOptions options);
  void after_create_session(SessionRunContext& context, Coordinator& coord) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StopAtStepOptions options_;
  std::int64_t last_step_ = 0;
};

struct NanTensorOptions {
  bool fail_on_nan_loss = true;  ///< else a warning, and the training ends as if it was done
  std::string what{};            ///< what messages call the tensor: its name when not given
  std::string hint{};            ///< to the error
};

/// Ends the training where a loss is no finite number, before it is saved: what follows is none
/// either. TensorFlow's looks for NaN alone. (tf.train.NanTensorHook)
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
  bool at_end = false;  ///< once more with the last values
  /// The line that is logged, of the values in the order of the tensors.
  std::function<std::string(std::span<const Array>)> formatter{};
};

/// Logs values: "loss = 0.25, step = 100 (0.310 sec)". (tf.train.LoggingTensorHook)
class LoggingTensorHook : public SessionRunHook {
 public:
  /// Under the tensors' own names. Throws ValueError unless one of every_n_iter and every_n_secs is
  /// given, or at_end alone.
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
  std::optional<double> every_n_secs{};  ///< in place of steps, which are then to be std::nullopt
  std::shared_ptr<summary::FileWriter> summary_writer{};  ///< gets "global_step/sec" where given
};

/// Logs how many steps are made a second. (tf.train.StepCounterHook)
class StepCounterHook : public SessionRunHook {
 public:
  explicit StepCounterHook(StepCounterOptions options = {});
  void after_create_session(SessionRunContext& context, Coordinator& coord) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  StepCounterOptions options_;
  HookTimer timer_;
  std::int64_t seen_ = 0, counted_from_ = 0;
  std::chrono::steady_clock::time_point since_{};
};

struct CheckpointSaverOptions {
  /// Seconds between checkpoints, or steps; with neither there is one at the end alone.
  std::optional<double> save_secs{};
  std::optional<std::int64_t> save_steps{};
  std::optional<Saver> saver{};
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners{};
};

/// Saves checkpoints, and at the end what has not been saved yet. TensorFlow's also saves before
/// the first step. (tf.train.CheckpointSaverHook)
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
  std::optional<std::int64_t> save_steps{};               ///< steps between summaries, or
  std::optional<double> save_secs{};                      ///< seconds
  std::string output_dir{};                               ///< the folder of the event file, or
  std::shared_ptr<summary::FileWriter> summary_writer{};  ///< the file itself
  std::optional<Tensor> summary_op{};  ///< all summaries of the graph when not given
  /// Numbers a summary by the steps before its run, as programs with a counter of their own do;
  /// TensorFlow's hook counts the run itself.
  bool count_before = false;
};

/// Writes summaries, computed within the steps. (tf.train.SummarySaverHook)
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

}  // namespace towerflow::train::types
