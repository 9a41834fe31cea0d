#include <chrono>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/runtime.h"
#include "cuda/host/submit.h"

namespace towerflow::cuda::host {
namespace {

cudaError_t record(State& state, cudaEvent_t event_handle, cudaStream_t handle, unsigned flags) {
  Stream* stream = state.find_stream(handle);
  const std::shared_ptr<Event> event = state.events.find(event_handle);
  if (stream == nullptr || event == nullptr || event->device != stream->device()) {
    return cudaErrorInvalidResourceHandle;
  }
  if ((flags & ~unsigned{cudaEventRecordExternal}) != 0) return cudaErrorInvalidValue;
  const bool external = (flags & cudaEventRecordExternal) != 0;
  if (external && stream->capture == nullptr) return cudaErrorInvalidValue;
  if (external) return submit(state, *stream, RecordStep{event});
  if (const cudaError_t status = check_capture(state, *stream); status != cudaSuccess) {
    return status;
  }
  event->capture = stream->capture;
  if (stream->capture != nullptr) {
    event->needs = stream->capture_tail;
  } else {
    event->point = push(state, *stream, {.what = "record an event"});
  }
  return cudaSuccess;
}

/// Returns the error of waiting for an event or asking for it, which a capture forbids.
cudaError_t check_wait_for_event(State& state, const Event& event) {
  if (event.capture != nullptr) {
    event.capture->invalidated = true;
    return cudaErrorCapturedEvent;
  }
  return check_unsafe_call(state);
}

}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  constexpr unsigned kFlags = cudaEventBlockingSync | cudaEventDisableTiming;
  return call([&](State& state, Lock&) {
    if (handle == nullptr || (flags & ~kFlags) != 0) return cudaErrorInvalidValue;
    *handle = state.events.add(
        std::make_shared<Event>(Event{.device = current_device(), .flags = flags}));
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return call([&](State& state, Lock&) {
    if (state.events.find(handle) == nullptr) return cudaErrorInvalidResourceHandle;
    state.events.remove(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&](State& state, Lock&) { return record(state, event, stream, 0); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return call([&](State& state, Lock&) { return record(state, event, stream, flags); });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return call([&](State& state, Lock& lock) {
    const std::shared_ptr<Event> event = state.events.find(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = check_wait_for_event(state, *event); status != cudaSuccess) {
      return status;
    }
    if (event->point != nullptr && !event->point->reached) return cudaErrorNotReady;
    return state.wait_for(event->point, lock);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return call([&](State& state, Lock& lock) {
    const std::shared_ptr<Event> event = state.events.find(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t status = check_wait_for_event(state, *event); status != cudaSuccess) {
      return status;
    }
    return state.wait_for(PointPtr(event->point), lock);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return call([&](State& state, Lock&) {
    const std::shared_ptr<Event> first = state.events.find(begin), last = state.events.find(end);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (first == nullptr || last == nullptr) return cudaErrorInvalidResourceHandle;
    if (first->capture != nullptr || last->capture != nullptr) return cudaErrorCapturedEvent;
    const bool timed = ((first->flags | last->flags) & cudaEventDisableTiming) == 0;
    if (!timed || first->point == nullptr || last->point == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!first->point->reached || !last->point->reached) return cudaErrorNotReady;
    *milliseconds =
        std::chrono::duration<float, std::milli>(last->point->time - first->point->time).count();
    return cudaSuccess;
  });
}

}  // namespace towerflow::cuda::host
