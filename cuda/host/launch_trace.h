#pragma once

#include "cuda/host/block.h"
#include "cuda/host/buffer_trace.h"

namespace towerflow::cuda::host {

/// While it lives, accesses of the calling thread in code of kernels are those of this launch.
class ActiveLaunch {
 public:
  ActiveLaunch(BlockRunner& runner, BufferTrace& trace);
  ActiveLaunch(const ActiveLaunch&) = delete;
  ActiveLaunch& operator=(const ActiveLaunch&) = delete;
  ~ActiveLaunch();
};

}  // namespace towerflow::cuda::host
