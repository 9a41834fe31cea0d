#include <cstring>
#include <utility>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/copy_step.h"
#include "cuda/host/runtime.h"
#include "cuda/host/submit.h"

namespace towerflow::cuda::host {
namespace {

/// Returns whether a range is the host's: pinned, or pageable memory, whose length nobody knows.
bool is_host_range(const Memory& memory, const void* at, std::size_t bytes) {
  if (at == nullptr || memory.is_device_address(at)) return false;
  return memory.find(at) == nullptr || memory.find(at, bytes) != nullptr;
}

bool is_device_range(const Memory& memory, const void* at, std::size_t bytes) {
  return memory.is_device_address(at) && memory.find(at, bytes) != nullptr;
}

/// Puts a copy into a stream. Pageable memory is read at once and written before the call returns,
/// but when the stream is captured: then that happens when the graph is replayed.
cudaError_t submit_copy(State& state, Lock& lock, Stream& stream, CopyStep step) {
  const bool captured = stream.capture != nullptr;
  if (step.from_pageable && !captured) {
    const auto* begin = static_cast<const std::byte*>(step.from);
    step.staged = std::make_shared<const std::vector<std::byte>>(begin, begin + step.bytes);
  }
  const bool waits = step.to_pageable && !captured;
  const cudaError_t status = submit(state, stream, std::move(step));
  if (status != cudaSuccess || !waits) return status;
  return state.wait_for(stream.last(), lock);
}

}  // namespace

cudaError_t make_copy(const Memory& memory, void* to, const void* from, std::size_t bytes,
                      cudaMemcpyKind kind, CopyStep& step) {
  step = {.to = to, .from = from, .bytes = bytes};
  if (bytes == 0) return cudaSuccess;
  const bool to_host = is_host_range(memory, to, bytes);
  const bool from_host = is_host_range(memory, from, bytes);
  const bool to_device = is_device_range(memory, to, bytes);
  const bool from_device = is_device_range(memory, from, bytes);
  bool fits = false;
  switch (kind) {
    case cudaMemcpyHostToHost:
      fits = from_host && to_host;
      break;
    case cudaMemcpyHostToDevice:
      fits = from_host && to_device;
      break;
    case cudaMemcpyDeviceToHost:
      fits = from_device && (to_host || to_device);  // a card accepts the latter too
      break;
    case cudaMemcpyDeviceToDevice:
      fits = from_device && to_device;
      break;
    case cudaMemcpyDefault:
      fits = (from_host || from_device) && (to_host || to_device);
      break;
  }
  if (!fits) return cudaErrorInvalidValue;
  step.from_pageable = memory.find(from) == nullptr;
  step.to_pageable = memory.find(to) == nullptr;
  return cudaSuccess;
}

cudaError_t make_set(const Memory& memory, void* at, unsigned value, std::size_t value_bytes,
                     std::size_t bytes, SetStep& step) {
  step = {.at = at, .value = value, .value_bytes = value_bytes, .bytes = bytes};
  return bytes == 0 || is_device_range(memory, at, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  return call([&](State& state, Lock& lock) {
    Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    CopyStep step;
    const cudaError_t status = make_copy(state.memory, to, from, bytes, kind, step);
    return status != cudaSuccess ? status : submit_copy(state, lock, *stream, std::move(step));
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t handle) {
  return call([&](State& state, Lock& lock) {
    const auto is_device = [&](int device) {
      return device >= 0 && device < state.options.devices;
    };
    if (!is_device(to_device) || !is_device(from_device)) return cudaErrorInvalidDevice;
    Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    CopyStep step;
    const cudaError_t status =
        make_copy(state.memory, to, from, bytes, cudaMemcpyDeviceToDevice, step);
    if (status != cudaSuccess) return status;
    if (bytes > 0 && (state.memory.find(to)->device != to_device ||
                      state.memory.find(from)->device != from_device)) {
      return cudaErrorInvalidValue;
    }
    return submit_copy(state, lock, *stream, std::move(step));
  });
}

cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t handle) {
  return call([&](State& state, Lock&) {
    Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    SetStep step;
    const cudaError_t status =
        make_set(state.memory, at, static_cast<unsigned char>(value), 1, bytes, step);
    return status != cudaSuccess ? status : submit(state, *stream, step);
  });
}

}  // namespace towerflow::cuda::host
