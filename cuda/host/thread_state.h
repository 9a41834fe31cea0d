#pragma once

#include <cuda_runtime_api.h>

namespace towerflow::cuda::host {

/// What each thread of the program has of its own.
struct ThreadState {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  bool in_host_function = false;  ///< of a stream, where calls are not permitted
};

inline ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

inline int current_device() { return thread_state().device; }

}  // namespace towerflow::cuda::host
