#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cuda/host/visible.h"

namespace towerflow::cuda::host {

/// What the emulation is like.
struct Options {
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30;  ///< bytes of each device
  bool peer_access = true;                    ///< whether devices may access each other's memory
  /// Of the delays of streams, and of the order of blocks and threads. 0: no delays, in order.
  std::uint64_t seed = 0;
  unsigned max_delay = 200;  ///< microseconds before a piece of work
};

/// Reads options as they are written in a variable of the environment or a device's name:
/// "devices=2,memory=512M,peer_access=0,seed=3,max_delay=100".
///
/// errors   std::invalid_argument: an unknown name, or a value that is no number
TOWERFLOW_CUDA_VISIBLE Options parse_options(std::string_view text);

}  // namespace towerflow::cuda::host
