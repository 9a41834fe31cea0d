#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "cuda/host/visible.h"

namespace towerflow::cuda::host {

/// What a kernel did wrong, with the status that a card reports, or would report if it noticed.
///
/// cudaErrorIllegalAddress     an access outside of every buffer of the launch
/// cudaErrorMisalignedAddress  an access to an address that is no multiple of its size
/// cudaErrorLaunchFailure      a race or unwritten bytes in shared memory, threads that do not meet
/// cudaErrorInvalidValue       a launch over the limits of the kernel
class TOWERFLOW_CUDA_VISIBLE KernelFault : public std::runtime_error {
 public:
  KernelFault(cudaError_t status, const std::string& what)
      : std::runtime_error(what), status_(status) {}
  cudaError_t status() const noexcept { return status_; }

 private:
  cudaError_t status_;
};

}  // namespace towerflow::cuda::host
