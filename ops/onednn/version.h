#pragma once

#include <string>

namespace towerflow::onednn {

/// Returns the version of the oneDNN library in use, "2.6.3"; it may be newer than the headers.
std::string library_version();

}  // namespace towerflow::onednn
