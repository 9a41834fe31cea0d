#pragma once

#include <cudnn.h>

#include <atomic>
#include <memory>

namespace towerflow::cuda::host {

/// What a handle of cuDNN holds.
struct DnnContext {
  std::atomic<cudaStream_t> stream{nullptr};
};

/// Returns nullptr for a handle that was not created or is destroyed.
std::shared_ptr<DnnContext> find_context(cudnnHandle_t handle);

}  // namespace towerflow::cuda::host
