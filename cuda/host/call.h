#pragma once

#include <new>

#include "cuda/host/state.h"
#include "cuda/host/thread_state.h"

namespace towerflow::cuda::host {

/// Does what all calls of the runtime have in common: refuses those inside of host functions,
/// returns the status of a fault, locks the state, remembers an error for cudaGetLastError.
/// `body(state, lock)` returns the status of the call.
template <class Body>
cudaError_t call(Body body) {
  ThreadState& thread = thread_state();
  const auto locked = [&]() -> cudaError_t {
    if (thread.in_host_function) return cudaErrorNotPermitted;
    State& now = state();
    std::vector<std::shared_ptr<Stream>> ended;  // destroyed after the lock is released
    Lock lock(now.mutex);
    ended = now.take_ended();
    if (now.fault_is_known) return now.fault->status;
    try {
      return body(now, lock);
    } catch (const std::bad_alloc&) {
      return cudaErrorMemoryAllocation;
    }
  };
  const cudaError_t status = locked();
  if (status != cudaSuccess) thread.last_error = status;
  return status;
}

}  // namespace towerflow::cuda::host
