#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "core/graph/lane.h"
#include "core/graph/types.h"

namespace towerflow::types {

/// A kernel or copy of one engine of a device that ends in an error.
struct SimulatedFault {
  int device = 0;
  Lane lane = Lane::compute;
  int task = -1;  ///< how many that engine does before it; -1: no fault

  bool operator==(const SimulatedFault&) const = default;
};

/// Simulated accelerators /device:SIM:0 .. /device:SIM:count-1, which stand in for GPUs.
///
/// They compute on this machine's cores, with memory of their own that the host cannot read, and
/// one copy engine in each direction.
struct SimulatedDevices {
  int count = 0;                              ///< 0: none
  double bandwidth = 16e9;                    ///< bytes a second of each copy engine
  double latency = 10e-6;                     ///< seconds of each copy
  std::map<int, double> slow{};               ///< device -> how many times slower its kernels are
  std::size_t memory = std::size_t{4} << 30;  ///< bytes of each device
  double jitter = 0;  ///< seconds: kernels and copies wait a random time up to this
  unsigned jitter_seed = 0;
  SimulatedFault fault{};

  bool operator==(const SimulatedDevices&) const = default;
};

}  // namespace towerflow::types

namespace towerflow {

/// Reads "N", then any of ",bandwidth=16GB/s", ",latency=10us", ",slow=I:X" (may repeat),
/// ",memory=2GiB", ",jitter=100us", ",fault=I:LANE:N": what follows `--devices sim:`. Throws
/// ValueError naming the part that does not fit and what it takes.
SimulatedDevices parse_simulated_devices(std::string_view text);

/// Throws ValueError for a value that no device can have.
void check(const SimulatedDevices& options);

}  // namespace towerflow
