#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/training.h"

namespace towerflow::models {

/// Writes `run.json` beside the checkpoint: what is trained and how, so that a later evaluation
/// builds the same network and a later run continues with the same options.
void write_run_record(const Model& model, const TrainOptions& options, const std::string& data_file,
                      std::int64_t steps);

/// The parts of the record that later runs use.
struct RunRecord {
  std::string model;
  OptionValues values;  ///< of the model's kept options
  std::optional<std::int64_t> seed{};
  std::string data_file{};  ///< the first file with training examples; empty if it is not known
};

/// Returns the record in `train_dir`; nothing if there is none. Throws DataLossError if it cannot
/// be parsed, ValueError if it is of another model.
std::optional<RunRecord> read_run_record(const Model& model, const std::string& train_dir);

}  // namespace towerflow::models
