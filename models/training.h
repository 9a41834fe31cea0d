#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/session.h"
#include "models/model.h"

namespace towerflow::models {

/// Devices and compute threads of a session.
struct DeviceOptions {
  int cpus = 0;  ///< logical CPUs, 0 for one a tower, or for one beside accelerators
  SimulatedDevices simulated{};  ///< accelerators to simulate; none unless asked for
  std::string visible{};         ///< numbers of the accelerators to use, "0,2"; all when empty
  int threads = 0;               ///< compute threads in all, 0 for one per core
  bool log_device_placement = false;
};

/// The session configuration for `num_towers` towers: soft placement, so that /gpu:i finds a CPU
/// where there is no accelerator.
ConfigProto session_config(int num_towers, const DeviceOptions& options);

struct TrainOptions {
  std::string data_dir;  ///< holds train.tfrecords or train.tfrecords.gz
  int num_towers = 1;
  std::int64_t batch_size = 64;  ///< per tower
  int num_epochs = 5;
  std::optional<std::int64_t> max_steps{};  ///< ends earlier
  std::optional<double> learning_rate{};    ///< the model's when not given
  std::string train_dir;                    ///< for checkpoints; none are written when empty
  std::int64_t save_every = 0;              ///< steps between checkpoints; 0: at the end alone
  bool restart = false;                     ///< train anew where train_dir has a checkpoint
  bool tb_logging = false;                  ///< write summaries to train_dir, every 100 steps
  std::optional<std::int64_t> seed{};
  int reader_threads = 2;  ///< per tower
  OptionValues values{};   ///< of the model's own options
  DeviceOptions devices{};
};

/// What one step showed.
struct StepReport {
  std::int64_t step = 0;       ///< counted from 0
  std::int64_t steps = 0;      ///< expected in all
  std::string stage;           ///< the name of its stage; empty where the model names none
  std::vector<double> losses;  ///< one a tower
  double seconds = 0;
};

struct TrainResult {
  std::int64_t steps = 0;       ///< in all, those of earlier runs included
  std::int64_t first_step = 0;  ///< of this run
  std::string continued_from;   ///< path prefix of a checkpoint; empty when trained anew
  bool stopped = false;         ///< by `on_step`
  std::int64_t examples_per_epoch = 0;
  std::vector<std::int64_t> left_over;  ///< per tower: examples that no full batch could take
  std::optional<double> examples_per_second{};  ///< of this run's steps after its first
  std::optional<double> loss{};  ///< of the last tower in the last step, where this run made one
  std::string checkpoint;        ///< path prefix; empty when none was written
};

/// Trains a model until every tower has read its epochs: the run ends by OutOfRangeError, with all
/// input threads joined. `on_step` is called after each step; returning false ends training there,
/// with a checkpoint. So does an error that it throws, which is thrown on then.
///
/// A run goes on from the newest checkpoint in train_dir, the input's position included: stopped
/// and continued it ends in the same bits as without. When the checkpoint was of other input, or of
/// fewer towers, the variables go on and the input starts over, which a warning says. A run without
/// a seed that has a train_dir picks one, which run.json there keeps. With `restart` a checkpoint
/// that is there already stays the newest until this run saves its first. While it lasts, no other
/// run trains into train_dir (train/folder_lock.h).
///
/// errors   NotFoundError: no training file in data_dir; UnavailableError: another run trains into
///          train_dir; DataLossError: a damaged one, or one that
///          has changed since the checkpoint; ValueError: an option out of range, fewer examples
///          than one batch, another model, network or seed than the checkpoint's
TrainResult train(const Model& model, const TrainOptions& options,
                  const std::function<bool(const StepReport&)>& on_step);

struct EvalOptions {
  std::string data_dir;   ///< holds test.tfrecords or test.tfrecords.gz
  std::string train_dir;  ///< the newest checkpoint there is used
  std::int64_t batch_size = 100;
  OptionValues values{};  ///< of the model's own options; as it was trained when not given
};

struct EvalResult {
  std::string checkpoint;
  std::int64_t step = 0;
  std::int64_t examples = 0;
  Score score;
};

/// Evaluates the newest checkpoint on the test digits, each of which is read exactly once.
EvalResult evaluate(const Model& model, const EvalOptions& options);

}  // namespace towerflow::models
