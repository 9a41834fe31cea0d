#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cuda/host/visible.h"

namespace towerflow::cuda::host {

/// Bytes that work reads or writes, by their address in device memory or in pinned host memory.
struct Operand {
  const void* at = nullptr;
  std::size_t bytes = 0;
  bool written = false;
};

/// One piece of work of a stream: a kernel, a copy, a call of a library.
struct Work {
  std::string what;               ///< for errors and logs: "cublasLtMatmul"
  std::vector<Operand> operands;  ///< all that it accesses; checked against unordered work
  /// Does the work, on the stream's thread. A status other than cudaSuccess is sticky, as a fault
  /// of a kernel is on a card.
  std::function<cudaError_t()> run;
};

/// Puts work into a stream, or into the graph for which the stream is being captured. `run` may be
/// called more than once then: it copies what the caller passed by value.
TOWERFLOW_CUDA_VISIBLE cudaError_t enqueue(cudaStream_t stream, Work work);

/// Returns the host address of a byte of device memory, for the work of a stream alone: device
/// memory cannot be accessed at the addresses that the table hands out. Returns addresses in pinned
/// host memory unchanged, nullptr for any other.
TOWERFLOW_CUDA_VISIBLE void* host_address(const void* address);

/// Returns whether `bytes` from an address on lie in one allocation of device memory or of pinned
/// host memory.
TOWERFLOW_CUDA_VISIBLE bool is_accessible(const void* address, std::size_t bytes);

}  // namespace towerflow::cuda::host
