#pragma once

#include "core/graph/types.h"

namespace towerflow::types {

/// The engines of a device that work concurrently, each in its own order. Devices that share the
/// host's memory have only the first.
enum class Lane {
  compute,   ///< kernels
  upload,    ///< copies into the device's memory
  download,  ///< copies out of it, to the host
  exchange,  ///< kernels that average gradients with other devices
};

/// The engines in the order of their names in help texts.
inline constexpr Lane kLanes[] = {Lane::compute, Lane::upload, Lane::download, Lane::exchange};

}  // namespace towerflow::types

namespace towerflow {

/// Returns "compute", "upload", "download" or "exchange".
inline const char* lane_name(Lane lane) {
  switch (lane) {
    case Lane::compute:
      return "compute";
    case Lane::upload:
      return "upload";
    case Lane::download:
      return "download";
    case Lane::exchange:
      return "exchange";
  }
  return "";
}

/// Returns whether an engine copies; the others run kernels.
inline bool is_copy_lane(Lane lane) { return lane == Lane::upload || lane == Lane::download; }

}  // namespace towerflow
