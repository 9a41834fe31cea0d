#include "cuda/backend/check.h"

#include <algorithm>
#include <iterator>

#include "core/graph/error.h"

namespace towerflow::cuda {

bool is_sticky(const Failure& failure) {
  constexpr int kSticky[] = {cudaErrorIllegalAddress,      cudaErrorLaunchFailure,
                             cudaErrorMisalignedAddress,   cudaErrorAssert,
                             cudaErrorDevicesUnavailable,  cudaErrorUnknown,
                             cudaErrorLaunchTimeout,       cudaErrorHardwareStackError,
                             cudaErrorIllegalInstruction,  cudaErrorInvalidAddressSpace,
                             cudaErrorInvalidPc,           cudaErrorECCUncorrectable,
                             cudaErrorNvlinkUncorrectable, cudaErrorContained,
                             cudaErrorTensorMemoryLeak};
  return failure.group == Group::runtime &&
         std::find(std::begin(kSticky), std::end(kSticky), failure.status) != std::end(kSticky);
}

void raise_failure(const Failure& failure) {
  const bool no_memory = (failure.group == Group::runtime &&
                          failure.status == static_cast<int>(cudaErrorMemoryAllocation)) ||
                         (failure.group == Group::cublaslt &&
                          failure.status == static_cast<int>(CUBLAS_STATUS_ALLOC_FAILED));
  if (no_memory) {
    throw errors::ResourceExhaustedError(
        failure.message(), {.hint = "use a smaller batch, or fewer towers per device"});
  }
  if (is_sticky(failure)) {
    throw errors::InternalError(
        failure.message() + ". CUDA does nothing more in this process, which has to end",
        {.hint = "a kernel has failed; the error may come from an operation before this one"});
  }
  throw errors::InternalError(failure.message());
}

}  // namespace towerflow::cuda
