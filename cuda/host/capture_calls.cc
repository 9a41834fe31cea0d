#include <algorithm>
#include <thread>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::host {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call([&](State& state, Lock&) {
    Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (mode != cudaStreamCaptureModeGlobal && mode != cudaStreamCaptureModeThreadLocal &&
        mode != cudaStreamCaptureModeRelaxed) {
      return cudaErrorInvalidValue;
    }
    if (stream == &state.default_stream(stream->device())) {
      return cudaErrorStreamCaptureUnsupported;
    }
    if (stream->capture != nullptr) {
      return stream->capture->invalidated ? cudaErrorStreamCaptureInvalidated
                                          : cudaErrorIllegalState;
    }
    const auto capture =
        std::make_shared<Capture>(Capture{.mode = mode, .thread = std::this_thread::get_id()});
    join_capture(*stream, capture, {});
    state.captures.insert(capture);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return call([&](State& state, Lock&) {
    Stream* stream = state.find_stream(handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    *graph = nullptr;
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr) return cudaErrorIllegalState;
    if (capture->streams.front() != stream) {
      return invalidate(*stream, cudaErrorStreamCaptureUnmatched);
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
      return invalidate(*stream, cudaErrorStreamCaptureWrongThread);
    }
    const bool joined = is_joined(*capture);
    leave_capture(state, capture);
    if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
    if (!joined) return cudaErrorStreamCaptureUnjoined;
    *graph = state.graphs.add(capture->graph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return call([&](State& state, Lock&) {
    const Stream* stream = state.find_stream(handle);
    if (status == nullptr) return cudaErrorInvalidValue;
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *status = stream->capture == nullptr     ? cudaStreamCaptureStatusNone
              : stream->capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                             : cudaStreamCaptureStatusActive;
    if (stream->capture != nullptr) return cudaSuccess;
    return check_capture(state, *stream);
  });
}

}  // namespace towerflow::cuda::host
