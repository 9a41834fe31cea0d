#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/types.h"

namespace towerflow::types {

/// GPUs /device:GPU:0 .. /device:GPU:count-1 that CUDA drives, or their emulation on the host.
struct CudaDevices {
  int count = 0;          ///< 0: none
  bool graphs = true;     ///< whether repeated work is launched as CUDA graphs (docs/cuda.md)
  bool emulated = false;  ///< computed on this machine's cores: slow, and strict about mistakes
  int share = 1;          ///< devices on each card: device i is on card i / share of the visible
  /// The most bytes that a device may allocate; 0: the memory of its card divided by `share`, or no
  /// limit if it has the card for itself.
  std::size_t limit = 0;
  /// A file with the plans of cuDNN for convolutions, which `towerflow tune` writes (docs/cuda.md);
  /// "": none.
  std::string plans{};
  /// Whether a convolution without a plan in the file is timed with all its plans, and the fastest
  /// added to the file. Without a file, the session keeps them for itself.
  bool tune = false;
  /// Of the emulation: the bytes of each card; the order of blocks and threads and the delays of
  /// streams, in order and without delays if 0; the longest delay.
  std::size_t memory = std::size_t{1} << 30;
  std::uint64_t seed = 0;
  unsigned max_delay_us = 200;

  bool operator==(const CudaDevices&) const = default;
};

}  // namespace towerflow::types

namespace towerflow {

/// Parses the text of `--devices` for CUDA: "cuda:N" with any of ",graphs=off", ",share=2",
/// ",limit=8G", ",plans=FILE", ",tune=on" after it, or "cuda-host:N" with any of these,
/// ",memory=2G", ",seed=3", ",delay=100" (microseconds). Throws ValueError that names the invalid
/// part and what is expected there.
CudaDevices parse_cuda_devices(std::string_view text);

/// Throws ValueError for an invalid value.
void check(const CudaDevices& options);

}  // namespace towerflow
