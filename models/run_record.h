#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/training.h"

namespace towerflow::models {

/// Writes `run.json` beside the checkpoint: what is trained and how, so that a later evaluation
/// builds the same network and a later run goes on alike.
void write_run_record(const Model& model, const TrainOptions& options, const std::string& data_file,
                      std::int64_t steps);

/// What a later run wants to know of it.
struct RunRecord {
  std::string model;
  OptionValues values;  ///< of the model's kept options
  std::optional<std::int64_t> seed{};
};

/// The record in `train_dir`; nothing without one. Throws DataLossError for one that cannot be
/// read, ValueError for one of another model.
std::optional<RunRecord> read_run_record(const Model& model, const std::string& train_dir);

}  // namespace towerflow::models
