#pragma once

#include <map>
#include <string>

#include "core/device/cuda_devices.h"
#include "core/device/sim/sim_options.h"
#include "core/graph/pass_options.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// The accelerators visible to a session. (tf.GPUOptions)
struct GPUOptions {
  /// Device numbers in the order in which they become /gpu:0, /gpu:1 ..: "1,0"; "" for all.
  std::string visible_device_list{};
};

/// The options of a session. (tf.ConfigProto)
struct ConfigProto {
  std::map<std::string, int> device_count{};  ///< number of logical devices by type: {{"CPU", 2}}
  int intra_op_parallelism_threads = 0;  ///< total number of compute threads, 0 for one per core
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  GPUOptions gpu_options{};
  SimulatedDevices simulated{};  ///< simulated accelerators, which replace GPUs
  CudaDevices cuda{};            ///< GPUs, or their emulation on the host
  PassOptions passes{};
};

}  // namespace towerflow::types
