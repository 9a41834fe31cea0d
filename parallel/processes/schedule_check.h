#pragma once

#include <string>
#include <vector>

#include "core/graph/site.h"
#include "parallel/processes/group.h"

namespace towerflow::parallel::processes {

/// Compares a text of several lines with those of the other processes. Throws ValueError in every
/// process if one differs from process 0: "the processes DIFFER: rank 0 has 'w: float32 (3,)' where
/// rank 2 has 'w: float32 (4,)'".
void check_same_in_all(ProcessGroup& group, const std::string& lines, const std::string& differ,
                       Site site);

/// Does the same with the texts of all processes, by rank.
void check_same(const std::vector<std::string>& texts, const std::string& differ, Site site);

}  // namespace towerflow::parallel::processes
