#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::types {

/// An entry of the placement ledger: where a node runs and why.
struct Placement {
  std::string node;
  std::string op;
  std::string asked;  ///< as the user wrote it
  std::string given;  ///< full device name
  std::string why;
};

/// One copy between two memories: the value, the devices, its readers, and its bytes per run.
struct Transfer {
  std::string value;     ///< "conv1/weights", "tower_0/gradients/.../grad:0"
  std::string from, to;  ///< full device names
  std::vector<std::string> readers;
  std::size_t bytes = 0;
  bool replica = false;   ///< refreshes a replica, only if the variable has changed
  bool mirrored = false;  ///< a replica that the step itself keeps up to date
};

}  // namespace towerflow::types
