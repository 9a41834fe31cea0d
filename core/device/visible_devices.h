#pragma once

#include <string>
#include <vector>

namespace towerflow {

/// Parses GPUOptions::visible_device_list, such as "1,0", for `count` devices that messages call
/// `what`: "accelerators". Returns their numbers in the order of the list; all for "". Throws
/// ValueError for a device that does not exist or is listed twice.
std::vector<int> visible_devices(const std::string& list, int count, const char* what);

}  // namespace towerflow
