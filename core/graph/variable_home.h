#pragma once

namespace towerflow::types {

/// Where the value of a variable lies, and so where its updates run.
enum class VariableHome {
  host,    ///< in the host's memory, where towers share it, whatever device the variable asks for
  device,  ///< in the memory of the device that the variable asks for
};

}  // namespace towerflow::types
