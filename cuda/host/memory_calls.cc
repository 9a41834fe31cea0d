#include "cuda/host/call.h"
#include "cuda/host/capture.h"
#include "cuda/host/runtime.h"

namespace towerflow::cuda::host {
namespace {

/// Frees or unregisters the allocation of a kind at an address. Waits for all work, as a card does,
/// but takes work for unordered that the program did not wait for.
cudaError_t free_allocation(State& state, Lock& lock, const void* address, MemoryKind kind,
                            cudaError_t unknown, const char* call) {
  if (const cudaError_t status = check_unsafe_call(state); status != cudaSuccess) return status;
  const Allocation* found = state.memory.starting_at(address);
  if (found == nullptr || found->kind != kind) return unknown;
  const Clock before = state.host;
  state.drain(lock);
  if (const cudaError_t status = state.learn_fault(); status != cudaSuccess) return status;
  // Another thread may have freed it meanwhile.
  found = state.memory.starting_at(address);
  if (found == nullptr || found->kind != kind) return unknown;
  if (auto error = state.order.release(address, found->buffer.bytes, before, call)) {
    state.set_fault({.status = cudaErrorUnknown, .text = error->text(), .order = error});
    return state.learn_fault();
  }
  state.memory.release(*found);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call([&](State& state, Lock&) {
    *total = state.memory.capacity(current_device());
    *free = *total - state.memory.in_use(current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return call([&](State& state, Lock&) {
    if (address == nullptr) return cudaErrorInvalidValue;
    if (const cudaError_t status = check_unsafe_call(state); status != cudaSuccess) return status;
    return state.memory.allocate(current_device(), bytes, address);
  });
}

cudaError_t cudaFree(void* address) {
  return call([&](State& state, Lock& lock) {
    if (address == nullptr) return check_unsafe_call(state);
    return free_allocation(state, lock, address, MemoryKind::device, cudaErrorInvalidValue,
                           "cudaFree");
  });
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  constexpr unsigned kFlags =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  return call([&](State& state, Lock&) {
    if (address == nullptr || (flags & ~kFlags) != 0) return cudaErrorInvalidValue;
    if (const cudaError_t status = check_unsafe_call(state); status != cudaSuccess) return status;
    return state.memory.allocate_host(current_device(), bytes, address);
  });
}

cudaError_t cudaFreeHost(void* address) {
  return call([&](State& state, Lock& lock) {
    if (address == nullptr) return check_unsafe_call(state);
    return free_allocation(state, lock, address, MemoryKind::host, cudaErrorInvalidValue,
                           "cudaFreeHost");
  });
}

cudaError_t cudaHostRegister(void* address, std::size_t bytes, unsigned flags) {
  constexpr unsigned kFlags =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
  return call([&](State& state, Lock&) {
    if ((flags & ~kFlags) != 0) return cudaErrorInvalidValue;
    if (const cudaError_t status = check_unsafe_call(state); status != cudaSuccess) return status;
    return state.memory.register_host(current_device(), address, bytes,
                                      (flags & cudaHostRegisterReadOnly) != 0);
  });
}

cudaError_t cudaHostUnregister(void* address) {
  return call([&](State& state, Lock& lock) {
    return free_allocation(state, lock, address, MemoryKind::registered,
                           cudaErrorHostMemoryNotRegistered, "cudaHostUnregister");
  });
}

}  // namespace towerflow::cuda::host
