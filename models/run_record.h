#pragma once

#include <string>

#include "models/mnist_train.h"

namespace towerflow::models::mnist {

/// Writes `run.json` beside the checkpoint: what was trained and how, so that a later evaluation
/// builds the same network.
void write_run_record(const TrainOptions& options, const TrainResult& result);

/// Whether the run recorded in `train_dir` had the ReLU on local4; false without a record.
/// Throws DataLossError for a record that cannot be read.
bool trained_with_relu_logits(const std::string& train_dir);

}  // namespace towerflow::models::mnist
