#pragma once

#include <string>
#include <vector>

namespace towerflow {

/// Devices that a library reduces values of by one call for all of them, or why it cannot.
struct Collective {
  std::vector<int> members;  ///< the number by which the backend's kernel knows each device
  std::string refusal;       ///< why it cannot, as a sentence; empty if it can
};

}  // namespace towerflow
