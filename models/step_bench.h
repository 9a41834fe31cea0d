#pragma once

#include <memory>

#include "models/training.h"
#include "report/bench.h"

namespace towerflow::models {

struct StepBenchOptions {
  std::string data_dir{};  ///< as in TrainOptions; batches lie in memory when it is empty
  int num_towers = 1;
  std::int64_t batch_size = 64;  ///< per tower
  OptionValues values{};         ///< of the model's own options
  DeviceOptions devices{};
  PassOptions passes{};
};

/// The training step of a model, of its last stage, on batches that lie in memory, in variables, so
/// that no input is timed. With a data_dir it is the whole program's: its queues are filled while
/// it runs.
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
  /// One step, with when each of its instructions was at work.
  RunMetadata trace();
  Session& session();
  /// What a step runs.
  const std::vector<Fetch>& fetches() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace towerflow::models
