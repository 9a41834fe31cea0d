#pragma once

#include <memory>

#include "models/training.h"
#include "report/bench.h"

namespace towerflow::models {

struct StepBenchOptions {
  std::string data_dir{};  ///< as in TrainOptions; if empty, batches are stored in memory
  int num_towers = 1;
  std::int64_t batch_size = 64;  ///< per tower
  OptionValues values{};         ///< the model's specific options
  DeviceOptions devices{};
  PassOptions passes{};
  /// More than 1: the step is that of one tower, which so many workers run (parallel::train_async).
  int workers = 1;
  /// Whether gradients are averaged over the processes of `parallel::process_group()`, whose
  /// variables begin equal.
  bool across_processes = false;
  /// Whether a step applies the gradients of the step before (parallel::DeferredGradients), for a
  /// model that computes them with an optimizer, and one worker.
  bool deferred_gradients = false;
  /// Whether towers read variables as of before the latest update, for a model that can.
  bool staged_variables = false;
};

/// The training step of a model's last stage, on batches stored in variables, so that no input is
/// timed. With a data_dir, the input pipeline of the whole program runs as well.
///
/// errors   ValueError: options that the model or several workers do not allow
class StepBench {
 public:
  StepBench(const Model& model, const StepBenchOptions& options);
  ~StepBench();
  StepBench(const StepBench&) = delete;
  StepBench& operator=(const StepBench&) = delete;

  /// Times steps as tf::bench does.
  BenchResult run(const BenchOptions& options);
  /// Runs `steps` steps and returns examples per second over all towers.
  double window(int steps);
  /// Loss of the last tower in the last step.
  double loss() const;
  /// Runs one step and returns when each of its instructions ran.
  RunMetadata trace();
  /// Returns which loss trains which variable.
  WhoTrains who_trains() const;
  Session& session();
  /// The fetches of a step.
  const std::vector<Fetch>& fetches() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace towerflow::models
