#include <algorithm>
#include <string>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/device_limits.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::host {
namespace {

bool is_device(const State& state, int device) {
  return device >= 0 && device < state.options.devices;
}

cudaDeviceProp properties_of(const State& state, int device) {
  cudaDeviceProp properties{};
  const std::string name = "emulated GPU " + std::to_string(device);
  std::copy(name.begin(), name.end(), properties.name);
  properties.uuid.bytes[0] = static_cast<char>(device + 1);
  properties.pciBusID = device;
  properties.major = 9;
  properties.minor = 0;
  properties.totalGlobalMem = state.options.memory;
  properties.warpSize = 32;
  properties.multiProcessorCount = kMultiprocessors;
  properties.maxThreadsPerBlock = kMaxThreads;
  properties.maxThreadsPerMultiProcessor = kThreadsOfMultiprocessor;
  properties.maxBlocksPerMultiProcessor = kBlocksOfMultiprocessor;
  std::copy(std::begin(kMaxBlock), std::end(kMaxBlock), properties.maxThreadsDim);
  std::copy(std::begin(kMaxGrid), std::end(kMaxGrid), properties.maxGridSize);
  properties.sharedMemPerBlock = kShared;
  properties.sharedMemPerBlockOptin = kSharedOnRequest;
  properties.sharedMemPerMultiprocessor = kSharedOfMultiprocessor;
  properties.reservedSharedMemPerBlock = kSharedReserved;
  properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
  properties.totalConstMem = 65536;
  properties.l2CacheSize = 60 << 20;
  properties.memoryBusWidth = 6144;
  properties.asyncEngineCount = 3;
  properties.unifiedAddressing = 1;
  properties.canMapHostMemory = 1;
  properties.canUseHostPointerForRegisteredMem = 1;
  properties.hostRegisterSupported = 1;
  properties.hostRegisterReadOnlySupported = 1;
  properties.concurrentKernels = 1;
  properties.streamPrioritiesSupported = 1;
  return properties;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call([&](State& state, Lock&) {
    *count = state.options.devices;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call([&](State& state, Lock&) {
    if (!is_device(state, device)) return cudaErrorInvalidDevice;
    *properties = properties_of(state, device);
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call([&](State& state, Lock&) {
    if (!is_device(state, device)) return cudaErrorInvalidDevice;
    thread_state().device = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call([&](State&, Lock&) {
    *device = current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call([&](State& state, Lock&) {
    if (!is_device(state, device) || !is_device(state, peer)) return cudaErrorInvalidDevice;
    *can = state.options.peer_access && device != peer;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call([&](State& state, Lock&) {
    if (!is_device(state, peer) || peer == current_device()) return cudaErrorInvalidDevice;
    if (flags != 0) return cudaErrorInvalidValue;
    if (!state.options.peer_access) return cudaErrorPeerAccessUnsupported;
    const bool added = state.peers.insert({current_device(), peer}).second;
    return added ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call([&](State& state, Lock&) {
    if (!is_device(state, peer) || peer == current_device()) return cudaErrorInvalidDevice;
    const bool removed = state.peers.erase({current_device(), peer}) != 0;
    return removed ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call([&](State& state, Lock& lock) {
    bool captured = false;
    for (const auto& capture : state.captures) {
      for (const Stream* stream : capture->streams) {
        if (stream->device() == current_device()) captured = capture->invalidated = true;
      }
    }
    if (captured) return cudaErrorStreamCaptureUnsupported;
    if (const cudaError_t status = check_unsafe_call(state); status != cudaSuccess) return status;
    std::vector<PointPtr> ends;
    for (const Stream* stream : state.running) {
      if (stream->device() == current_device()) ends.push_back(stream->last());
    }
    for (const PointPtr& end : ends) state.wait_for(end, lock);
    return state.learn_fault();
  });
}

}  // namespace towerflow::cuda::host
