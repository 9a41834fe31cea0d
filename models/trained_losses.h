#pragma once

#include <vector>

#include "models/model.h"

namespace towerflow::models {

/// Returns the losses of a model, one per tower each, and the ops that train with them.
std::vector<TrainedLoss> trained_losses(const Model& model, const TrainingGraph& graph);

}  // namespace towerflow::models
