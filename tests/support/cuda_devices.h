// The GPUs of tests: emulated on the host, unless TOWERFLOW_TEST_CUDA says otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/device/cuda_devices.h"

namespace towerflow::testing {

/// Returns `count` GPUs. TOWERFLOW_TEST_CUDA is of the form of --devices: with
/// "cuda-host:2,seed=7,delay=100" the emulation has this seed and this delay in place of the
/// test's, with "cuda:1" tests run on real GPUs, of which they get no more than there are.
inline types::CudaDevices cuda_devices(int count, std::uint64_t seed = 0) {
  const char* text = std::getenv("TOWERFLOW_TEST_CUDA");
  if (text == nullptr) return {.count = count, .emulated = true, .seed = seed};
  types::CudaDevices devices = parse_cuda_devices(text);
  devices.count = devices.emulated ? count : std::min(count, devices.count);
  return devices;
}

/// Returns what plans call a kernel on these devices: "host emulation, cuDNN", or "cuDNN" alone.
inline std::string cuda_label(const std::string& library) {
  return (cuda_devices(1).emulated ? "host emulation, " : "") + library;
}

}  // namespace towerflow::testing
