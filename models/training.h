#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/scopes.h"
#include "core/runtime/session.h"
#include "models/model.h"
#include "parallel/batch_size.h"

namespace towerflow::models {

/// Devices and compute threads of a session.
struct DeviceOptions {
  int cpus = 0;                  ///< logical CPUs; 0: one per tower, or one beside accelerators
  SimulatedDevices simulated{};  ///< simulated accelerators; none by default
  CudaDevices cuda{};            ///< GPUs, or their emulation; none by default
  std::string visible{};         ///< indices of the accelerators to use, "0,2"; all if empty
  int threads = 0;               ///< total compute threads, 0 for one per core
  /// Where the variables of the model are stored; absent: in host memory.
  std::optional<VariableHome> home{};
  AllReduceOptions all_reduce{};  ///< for mirrored variables
  bool log_device_placement = false;
};

/// Returns whether a session has devices besides the CPUs.
bool has_accelerators(const DeviceOptions& options);

/// Returns the session configuration for `num_towers` towers. It enables soft placement, so that
/// /gpu:i is placed on a CPU if there is no accelerator.
ConfigProto session_config(int num_towers, const DeviceOptions& options);

/// If there are fewer accelerators than towers, makes the towers that are built while the scope is
/// open use the accelerators in turn (parallel::devices_in_turn); else changes nothing.
DeviceScope share_devices(int num_towers, const DeviceOptions& options);

/// What a training derived from its options, before its first step.
struct TrainingPlan {
  WhoTrains who_trains;
  parallel::TowerBatch batch;
  parallel::GlobalBatch step_batch;  ///< of all towers, in all processes
  std::int64_t epoch_examples = 0;   ///< that one process reads
  double epoch_steps = 0;            ///< in which they are read
};

struct TrainOptions {
  std::string data_dir;  ///< contains the training files of the model's data set
  int num_towers = 1;
  std::int64_t batch_size = 64;  ///< per tower
  int num_epochs = 5;
  /// Upper limit of the steps; that of the model's stages if options give steps to all of them.
  std::optional<std::int64_t> max_steps{};
  std::optional<double> learning_rate{};  ///< if absent, the model's
  std::string train_dir;                  ///< for checkpoints; if empty, none are written
  std::int64_t save_every = 0;            ///< steps between checkpoints; 0: only at the end
  bool restart = false;                   ///< start over even if train_dir has a checkpoint
  bool tb_logging = false;                ///< write summaries to train_dir, every 100 steps
  std::optional<std::int64_t> seed{};
  int reader_threads = 2;  ///< per tower
  OptionValues values{};   ///< the model's specific options
  DeviceOptions devices{};
  /// Whether to train together with the other processes of `parallel::process_group()`.
  bool across_processes = false;
  /// Called before the first step of a training that does not continue another.
  std::function<void(const TrainingPlan&)> on_built{};
};

/// The report of one step.
struct StepReport {
  std::int64_t step = 0;       ///< counted from 0
  std::int64_t steps = 0;      ///< expected total
  std::int64_t epoch = 0;      ///< counted from 0
  std::string stage;           ///< the stage's name; empty if the model's stages have none
  double loss = 0;             ///< of the last tower, or the mean: Model::mean_loss
  std::vector<double> losses;  ///< one per tower
  double seconds = 0;
  std::vector<std::pair<std::string, double>> parts{};  ///< StageOps::parts
};

struct TrainResult {
  std::int64_t steps = 0;       ///< total, including earlier runs
  std::int64_t first_step = 0;  ///< of this run
  std::string resumed_from;     ///< path prefix of a checkpoint; empty if started from scratch
  bool stopped = false;         ///< by `on_step`
  std::int64_t examples_per_epoch = 0;
  /// Per tower: examples left over, too few for a batch. Empty if all towers share a pipeline.
  std::vector<std::int64_t> left_over;
  /// Of this run's steps after its first, in all processes.
  std::optional<double> examples_per_second{};
  std::optional<double> loss{};  ///< of the last step, if this run made a step
  std::string checkpoint;        ///< path prefix; empty if none was written
  std::int64_t global_step = 0;  ///< at the end; see TrainingGraph::counts_per_step
};

/// Returns the examples of a step, of all towers in all processes.
std::int64_t examples_of_step(const TrainOptions& options);

/// Returns "; mean of 2 towers 4.62, from 4.61 to 4.62", for the end of a log line that has the
/// loss of one tower; "" if there is one.
std::string towers_text(const StepReport& report, int decimals);

/// Trains a model until a tower has read all its epochs (OutOfRangeError ends the run), and joins
/// all input threads. `on_step` is called after each step; if it returns false, training ends there
/// with a checkpoint. An error that it throws ends training in the same way and is then rethrown.
///
/// A run continues from the newest checkpoint in train_dir, including the position in the input: a
/// training that was stopped and continued gives bitwise the same result as one without a stop. If
/// the checkpoint is of other input or of fewer towers, the variables are restored but the input
/// starts over, with a warning. A run with a train_dir but no seed picks one and stores it in
/// run.json. With `restart`, an existing checkpoint stays the newest until this run saves its
/// first. Only one run at a time can train into train_dir (train/folder_lock.h).
///
/// Across processes, each has `num_towers` towers and a share of the examples, and a step applies
/// the mean of the gradients of all processes (parallel/processes/all_reduce.h). Process 0 alone
/// uses train_dir; its variables, or those of its checkpoint, are given to the others. Random
/// numbers and the order of examples differ between processes. Process 0 saves the positions of all
/// of them. If the number of processes differs from that of the checkpoint, the input starts over,
/// in another order, with a warning. All processes end after the same step if `on_step` returns
/// false in one of them.
///
/// errors   NotFoundError: no training file in data_dir; UnavailableError: another run trains into
///          train_dir; DataLossError: the training file is damaged or has changed since the
///          checkpoint; ValueError: an option out of range, fewer examples than one batch, another
///          model, network or seed than the checkpoint's; across processes also the errors of
///          ProcessGroup
TrainResult train(const Model& model, const TrainOptions& options,
                  const std::function<bool(const StepReport&)>& on_step);

struct EvalOptions {
  std::string data_dir;   ///< contains the test files of the model's data set
  std::string train_dir;  ///< the newest checkpoint there is used
  std::int64_t batch_size = 100;
  OptionValues values{};  ///< the model's specific options; if absent, those of the training
  /// The file for what the network makes, of the first batch of test examples if the model shows a
  /// batch; if empty, none is written. The model must have samples.
  std::string samples{};
};

struct EvalResult {
  std::string checkpoint;
  std::int64_t step = 0;
  std::int64_t examples = 0;
  Score score;
};

/// Evaluates the newest checkpoint on the test examples, each of which is read exactly once.
EvalResult evaluate(const Model& model, const EvalOptions& options);

}  // namespace towerflow::models
