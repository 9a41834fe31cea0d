#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/graph/types.h"

namespace towerflow::types {

/// Where a node runs and why: an entry of the placement ledger.
struct Placement {
  std::string node;
  std::string op;
  std::string asked;  ///< as the user wrote it
  std::string given;  ///< full device name
  std::string why;
};

/// One copy between two memories: who makes the value, who reads it there, and its bytes in each
/// run. The ledger's entry of an edge.
struct Transfer {
  std::string value;     ///< "conv1/weights", "tower_0/gradients/.../grad:0"
  std::string from, to;  ///< full device names
  std::vector<std::string> readers;
  std::size_t bytes = 0;
  bool replica = false;  ///< a variable's: made only when the variable has changed
};

}  // namespace towerflow::types
