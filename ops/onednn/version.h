#pragma once

#include <string>

namespace towerflow::onednn {

/// The version of the oneDNN library that runs, "2.6.3"; it may be newer than the headers.
std::string library_version();

}  // namespace towerflow::onednn
