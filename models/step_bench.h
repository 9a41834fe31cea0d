#pragma once

#include <memory>

#include "models/mnist_train.h"

namespace towerflow::models::mnist {

struct BenchOptions {
  std::string data_dir{};  ///< as in TrainOptions; batches lie in memory when it is empty
  int num_towers = 1;
  std::int64_t batch_size = 64;  ///< per tower
  NetOptions net{};
  Averager average{};
  DeviceOptions devices{};
  PassOptions passes{};
};

/// The training step on batches that lie in memory, in variables, so that no input is timed. With a
/// data_dir it is the whole program's: its queues are filled while it runs.
class StepBench {
 public:
  explicit StepBench(const BenchOptions& options);
  ~StepBench();
  StepBench(const StepBench&) = delete;
  StepBench& operator=(const StepBench&) = delete;

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

}  // namespace towerflow::models::mnist
