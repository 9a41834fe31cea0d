#pragma once

#include <string>

#include "core/graph/site.h"

namespace towerflow {

/// A summary's name as a node may have it: what no name may hold becomes '_', slashes in front go.
/// Says so in the log where that changes it. (clean_tag)
std::string clean_tag(const std::string& name, Site site);

}  // namespace towerflow
