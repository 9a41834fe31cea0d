#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/mnist_train.h"

namespace towerflow::models::mnist {

/// Writes `run.json` beside the checkpoint: what is trained and how, so that a later evaluation
/// builds the same network and a later run goes on alike.
void write_run_record(const TrainOptions& options, const std::string& data_file,
                      std::int64_t steps);

/// What a later run wants to know of it.
struct RunRecord {
  bool relu_logits = false;
  std::optional<std::int64_t> seed{};
};

/// The record in `train_dir`; nothing without one. Throws DataLossError for one that cannot be
/// read.
std::optional<RunRecord> read_run_record(const std::string& train_dir);

}  // namespace towerflow::models::mnist
