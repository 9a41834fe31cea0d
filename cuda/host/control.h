#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

#include "cuda/host/options.h"
#include "cuda/host/order.h"
#include "cuda/host/visible.h"

namespace towerflow::cuda::host {

/// An error after which nothing works any more, as after a fault of a kernel on a card.
struct Fault {
  cudaError_t status = cudaSuccess;
  std::string text;
  std::optional<OrderError> order{};  ///< the accesses, if they were not ordered
};

/// Ends all work, forgets everything and starts the emulation anew, as a new process would. Call it
/// only while no other thread uses the emulation.
///
/// errors   std::bad_alloc: the system has not enough addresses for the devices
TOWERFLOW_CUDA_VISIBLE void restart(const Options& options);

/// Returns the fault that was found since the start, whether or not a call has returned it.
TOWERFLOW_CUDA_VISIBLE std::optional<Fault> found_fault();

}  // namespace towerflow::cuda::host
