#pragma once

#include <vector>

#include "train/saveable.h"

namespace towerflow::train {

/// Returns a saveable for each seeded random op of the default graph: how far its numbers have been
/// drawn, under `_random/OP/taken`. A run that is stopped and resumed draws what it would have
/// drawn otherwise.
///
/// Ops on which an input queue or an initial value depends are left out: the position of an input
/// (train/input/input_position.h) counts on producers that start alike in every session.
///
/// Save between steps; restore before the first one.
std::vector<Saveable> random_positions();

}  // namespace towerflow::train
