#pragma once

#include <vector>

#include "core/graph/fetch.h"

namespace towerflow::parallel {

/// Update ops that `combine_update_ops` makes in place of the towers' own, in the open name scope
/// of the default graph.

/// Returns assignments, additions and subtractions of the same values to the same variables, all
/// after the values: none of them sees what another op of the list has written.
std::vector<Fetch> postponed_updates(const std::vector<Fetch>& updates, Site site);

/// Returns updates of the moving averages by the moments of all towers' values.
std::vector<Fetch> merged_updates(const std::vector<std::vector<Fetch>>& tower_updates, Site site);

}  // namespace towerflow::parallel
