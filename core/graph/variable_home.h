#pragma once

namespace towerflow::types {

/// Where the value of a variable is stored, and therefore where its updates run.
enum class VariableHome {
  host,    ///< in host memory, shared by towers, whatever device the variable requests
  device,  ///< in the memory of the device that the variable requests
};

}  // namespace towerflow::types
