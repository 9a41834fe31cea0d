#pragma once

#include <string>
#include <vector>

#include "train/who_trains.h"

namespace towerflow {

/// Returns the table of `who_trains_what`: a line for neighbouring variables of a scope that fare
/// alike, a column for each loss, then reasons, update ops and what nobody trains.
std::string who_trains_text(const WhoTrains& who, const std::vector<TrainedLoss>& trained);

}  // namespace towerflow
