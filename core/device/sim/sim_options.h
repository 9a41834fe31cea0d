#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/graph/lane.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// An injected fault: a kernel or copy of one engine of a device that fails.
struct SimulatedFault {
  int device = 0;
  Lane lane = Lane::compute;
  int task = -1;  ///< number of tasks that engine does before it; -1: no fault

  bool operator==(const SimulatedFault&) const = default;
};

/// Simulated accelerators /device:SIM:0 .. /device:SIM:count-1, which replace GPUs.
///
/// They compute on this machine's cores. Each has its own memory, which the host cannot access, and
/// one copy engine in each direction.
struct SimulatedDevices {
  int count = 0;                              ///< 0: none
  double bandwidth = 16e9;                    ///< bytes per second of each copy engine
  double latency = 10e-6;                     ///< seconds per copy
  std::map<int, double> slow{};               ///< device -> factor by which its kernels are slower
  std::size_t memory = std::size_t{4} << 30;  ///< bytes per device
  double jitter = 0;  ///< seconds: kernels and copies are delayed by a random time up to this
  unsigned jitter_seed = 0;
  SimulatedFault fault{};

  bool operator==(const SimulatedDevices&) const = default;
};

}  // namespace towerflow::types

namespace towerflow {

/// Parses the text after `--devices sim:`: "N", then any of ",bandwidth=16GB/s", ",latency=10us",
/// ",slow=I:X" (may be repeated), ",memory=2GiB", ",jitter=100us", ",fault=I:LANE:N". Throws
/// ValueError naming the invalid part and what is expected there.
SimulatedDevices parse_simulated_devices(std::string_view text);

/// Throws ValueError for an invalid value.
void check(const SimulatedDevices& options);

}  // namespace towerflow
