#pragma once

#include <string>

namespace towerflow {

/// This machine's name, "localhost" where it has none.
std::string host_name();

}  // namespace towerflow
