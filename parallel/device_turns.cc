#include "parallel/device_turns.h"

#include <fmt/format.h>

#include "core/graph/device_spec.h"
#include "core/graph/error.h"

namespace towerflow::parallel {

DeviceFunction devices_in_turn(int num_devices, Site site) {
  if (num_devices < 1) {
    throw ValueError(fmt::format("devices_in_turn needs at least one device, got {}", num_devices),
                     {.site = site});
  }
  return [num_devices](const Operation& op) {
    DeviceSpec spec = DeviceSpec::parse(op.device());
    if (spec.type != "GPU" || spec.index.value_or(0) < num_devices) return op.device();
    spec.index = *spec.index % num_devices;
    return spec.text();
  };
}

}  // namespace towerflow::parallel
