#pragma once

namespace towerflow::types {

/// Where the value of a variable is stored, and therefore where its updates run.
enum class VariableHome {
  host,    ///< in host memory, shared by towers, whatever device the variable requests
  device,  ///< in the memory of the device that the variable requests
  /// In the memory of every accelerator that reads it: each runs the variable's updates itself. If
  /// the variable requests a CPU, the first accelerator has the copy that checkpoints and fetches
  /// read.
  mirrored,
};

}  // namespace towerflow::types
