#include <algorithm>
#include <string>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/runtime.h"
#include "cuda/host/submit.h"

namespace towerflow::cuda::host {
namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;  // the lower the number, the earlier

cudaError_t create_stream(State& state, cudaStream_t* handle, unsigned flags) {
  if (handle == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0) {
    return cudaErrorInvalidValue;
  }
  const int device = current_device();
  std::string name = "stream " + std::to_string(++state.streams_made);
  if (state.options.devices > 1) name += " of device " + std::to_string(device);
  *handle = state.streams.add(std::make_shared<Stream>(state, device, flags, std::move(name)));
  return cudaSuccess;
}

/// Returns the error of waiting for a stream or asking whether it is done, which a capture forbids.
cudaError_t check_wait(State& state, const Stream& stream) {
  if (stream.capture != nullptr) return invalidate(stream, cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t status = check_capture(state, stream); status != cudaSuccess) return status;
  return check_unsafe_call(state);
}

/// What work of a stream 0 waits for is that of all blocking streams too.
std::vector<PointPtr> ends_of(State& state, const Stream& stream) {
  std::vector<PointPtr> ends{stream.last()};
  if (&stream != &state.default_stream(stream.device())) return ends;
  for (const Stream* other : state.running) {
    if (other->device() == stream.device() && other->is_blocking()) ends.push_back(other->last());
  }
  return ends;
}

/// Makes a captured stream wait for an event, or draws a stream into the capture of an event.
cudaError_t wait_in_capture(State& state, Stream& stream, const std::shared_ptr<Event>& event,
                            bool external) {
  if (external) return submit(state, stream, WaitStep{event});
  const auto& capture = event->capture;
  if (capture == nullptr || !state.captures.contains(capture)) {
    const bool captured = stream.capture != nullptr;
    if (!captured) return cudaErrorCapturedEvent;  // of a capture that has ended
    return invalidate(stream, cudaErrorStreamCaptureIsolation);
  }
  if (stream.capture != nullptr && stream.capture != capture) {
    capture->invalidated = true;
    return invalidate(stream, cudaErrorStreamCaptureMerge);
  }
  if (capture->invalidated) return cudaErrorStreamCaptureInvalidated;
  if (&stream == &state.default_stream(stream.device())) {
    capture->invalidated = true;
    return cudaErrorStreamCaptureImplicit;
  }
  if (stream.capture == nullptr) {
    join_capture(stream, capture, event->needs);
  } else {
    std::vector<std::size_t>& tail = stream.capture_tail;
    tail.insert(tail.end(), event->needs.begin(), event->needs.end());
    std::sort(tail.begin(), tail.end());
    tail.erase(std::unique(tail.begin(), tail.end()), tail.end());
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return call([&](State& state, Lock&) { return create_stream(state, handle, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  // A card moves priorities into its range. They change when work runs, never what it gives.
  static_cast<void>(std::clamp(priority, kGreatestPriority, kLeastPriority));
  return call([&](State& state, Lock&) { return create_stream(state, handle, flags); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call([&](State&, Lock&) {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Stream> stream = state.streams.find(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr) return invalidate(*stream, cudaErrorStreamCaptureUnsupported);
    state.streams.remove(handle);
    state.close(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call([&](State& state, Lock& lock) {
    const Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = check_wait(state, *stream); status != cudaSuccess) return status;
    for (const PointPtr& end : ends_of(state, *stream)) state.wait_for(end, lock);
    return state.learn_fault();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call([&](State& state, Lock& lock) {
    const Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = check_wait(state, *stream); status != cudaSuccess) return status;
    const std::vector<PointPtr> ends = ends_of(state, *stream);
    for (const PointPtr& end : ends) {
      if (end != nullptr && !end->reached) return cudaErrorNotReady;
    }
    for (const PointPtr& end : ends) state.wait_for(end, lock);
    return state.learn_fault();
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return call([&](State& state, Lock&) {
    Stream* stream = state.find_stream(handle);
    const std::shared_ptr<Event> event = state.events.find(event_handle);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    if ((flags & ~unsigned{cudaEventWaitExternal}) != 0) return cudaErrorInvalidValue;
    const cudaError_t status = check_capture(state, *stream);
    if (status != cudaSuccess) return status;
    const bool external = (flags & cudaEventWaitExternal) != 0;
    if (external && stream->capture == nullptr) return cudaErrorInvalidValue;
    if (stream->capture != nullptr || event->capture != nullptr) {
      return wait_in_capture(state, *stream, event, external);
    }
    if (event->point != nullptr) {
      push(state, *stream, {.what = "wait for an event"}, {event->point});
    }
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return call([&](State& state, Lock&) {
    Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (function == nullptr) return cudaErrorInvalidValue;
    return submit(state, *stream, HostStep{.function = function, .data = data});
  });
}

}  // namespace towerflow::cuda::host
