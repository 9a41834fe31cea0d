#include <string>
#include <string_view>

#include "cuda/host/runtime.h"
#include "cuda/host/state.h"
#include "cuda/host/thread_state.h"

namespace towerflow::cuda::host {
namespace {

struct ErrorName {
  cudaError_t status;
  const char* name;
  const char* text;
};

#define TOWERFLOW_ERROR(status, text) \
  { status, #status, text }
/// The errors that the emulation returns, and those that its users may return from their work.
constexpr ErrorName kErrors[] = {
    TOWERFLOW_ERROR(cudaSuccess, "no error"),
    TOWERFLOW_ERROR(cudaErrorInvalidValue, "an argument is not valid"),
    TOWERFLOW_ERROR(cudaErrorMemoryAllocation, "there is not enough memory"),
    TOWERFLOW_ERROR(cudaErrorInitializationError, "the emulation could not start"),
    TOWERFLOW_ERROR(cudaErrorInvalidDeviceFunction, "the kernel is null"),
    TOWERFLOW_ERROR(cudaErrorNoDevice, "there is no device"),
    TOWERFLOW_ERROR(cudaErrorInvalidDevice, "there is no device of this number"),
    TOWERFLOW_ERROR(cudaErrorInvalidKernelImage, "the image is no program for a device"),
    TOWERFLOW_ERROR(cudaErrorPeerAccessUnsupported, "the devices cannot access each other"),
    TOWERFLOW_ERROR(cudaErrorInvalidResourceHandle, "a handle is invalid or was destroyed"),
    TOWERFLOW_ERROR(cudaErrorIllegalState, "the object is not in a state for this call"),
    TOWERFLOW_ERROR(cudaErrorSymbolNotFound, "there is no kernel of this name"),
    TOWERFLOW_ERROR(cudaErrorNotReady, "the work has not ended"),
    TOWERFLOW_ERROR(cudaErrorIllegalAddress, "a kernel accessed an address that is not its own"),
    TOWERFLOW_ERROR(cudaErrorPeerAccessAlreadyEnabled, "access to the device is enabled already"),
    TOWERFLOW_ERROR(cudaErrorAssert, "an assertion in a kernel failed"),
    TOWERFLOW_ERROR(cudaErrorHostMemoryAlreadyRegistered, "the memory is pinned already"),
    TOWERFLOW_ERROR(cudaErrorHostMemoryNotRegistered, "the memory is not registered"),
    TOWERFLOW_ERROR(cudaErrorMisalignedAddress, "a kernel accessed a misaligned address"),
    TOWERFLOW_ERROR(cudaErrorLaunchFailure, "a kernel failed"),
    TOWERFLOW_ERROR(cudaErrorNotPermitted, "the call is not permitted here"),
    TOWERFLOW_ERROR(cudaErrorNotSupported, "the emulation does not support this"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureUnsupported, "a capture forbids this call"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureInvalidated, "an earlier error invalidated the capture"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureMerge, "the call would join two captures"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureUnmatched, "the capture began in another stream"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureUnjoined, "a stream of the capture was not joined"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureIsolation,
                    "a captured stream cannot depend on work outside of the capture"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureImplicit,
                    "stream 0 cannot be used while a blocking stream is captured"),
    TOWERFLOW_ERROR(cudaErrorCapturedEvent, "the event was recorded in a captured stream"),
    TOWERFLOW_ERROR(cudaErrorStreamCaptureWrongThread, "the capture began in another thread"),
    TOWERFLOW_ERROR(cudaErrorGraphExecUpdateFailure, "the graphs differ in more than parameters"),
    TOWERFLOW_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef TOWERFLOW_ERROR

const ErrorName* find_error(cudaError_t status) {
  for (const ErrorName& error : kErrors) {
    if (error.status == status) return &error;
  }
  return nullptr;
}

}  // namespace

cudaError_t cudaGetLastError() {
  ThreadState& thread = thread_state();
  State& now = state();
  Lock lock(now.mutex);
  if (now.fault_is_known) return now.fault->status;
  return std::exchange(thread.last_error, cudaSuccess);
}

const char* cudaGetErrorName(cudaError_t status) {
  const ErrorName* error = find_error(status);
  return error != nullptr ? error->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t status) {
  {
    // The driver knows only the status. Here it would be a pity not to say what happened.
    State& now = state();
    Lock lock(now.mutex);
    if (now.fault_is_known && now.fault->status == status) return now.fault->text.c_str();
  }
  const ErrorName* error = find_error(status);
  return error != nullptr ? error->text : "unrecognized error code";
}

}  // namespace towerflow::cuda::host
