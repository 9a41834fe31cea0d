#pragma once

#include "core/graph/types.h"

namespace towerflow::types {

/// The engines of a device that work concurrently, each in its own order. Devices that share the
/// host's memory have only the first.
enum class Lane {
  compute,   ///< kernels
  upload,    ///< copies into the device's memory
  download,  ///< copies out of it, to the host
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns "compute", "upload" or "download".
inline const char* lane_name(Lane lane) {
  return lane == Lane::compute ? "compute" : lane == Lane::upload ? "upload" : "download";
}

}  // namespace towerflow
