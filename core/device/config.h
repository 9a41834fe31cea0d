#pragma once

#include <map>
#include <string>

#include "core/device/sim/sim_options.h"
#include "core/graph/pass_options.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// Which accelerators a session sees. (tf.GPUOptions)
struct GPUOptions {
  /// Numbers of devices in the order in which they become /gpu:0, /gpu:1 ..: "1,0"; "" for all.
  std::string visible_device_list{};
};

/// How a session runs graphs. (tf.ConfigProto)
struct ConfigProto {
  std::map<std::string, int> device_count{};  ///< logical devices by type: {{"CPU", 2}}
  int intra_op_parallelism_threads = 0;       ///< compute threads in all, 0 for one per core
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  GPUOptions gpu_options{};
  SimulatedDevices simulated{};  ///< accelerators to simulate, which stand in for GPUs
  PassOptions passes{};
};

}  // namespace towerflow::types
