#pragma once

#include "dataset/iterator.h"
#include "models/data_set.h"

namespace towerflow::models {

/// Saves the position of a training's input that is a dataset, with its variables. A later run
/// continues there if its files hold the same bytes, whatever their folder, and its batches and
/// towers are as many; else its input starts over, with a warning.
void save_position(const data::Iterator& batches, const InputOptions& options);

}  // namespace towerflow::models
