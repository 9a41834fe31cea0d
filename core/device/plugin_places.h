#pragma once

#include <string>
#include <vector>

namespace towerflow {

/// Returns where a plug-in of the library may be, as paths of `file`. The build puts it in `folder`
/// of the build's own folder, where the programs are; an installation puts it beside the library,
/// which is below the prefix of the command.
std::vector<std::string> places_of_plugin(const char* file, const char* folder);

}  // namespace towerflow
