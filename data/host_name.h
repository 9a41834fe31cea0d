#pragma once

#include <string>

namespace towerflow {

/// Returns this machine's name, "localhost" if it has none.
std::string host_name();

}  // namespace towerflow
