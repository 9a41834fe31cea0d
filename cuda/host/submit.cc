#include "cuda/host/submit.h"

#include <utility>

#include "cuda/host/call.h"
#include "cuda/host/capture.h"

namespace towerflow::cuda::host {

PointPtr push(State& state, Stream& stream, Task task, std::vector<PointPtr> points) {
  Stream& first = state.default_stream(stream.device());
  const auto wait_for_last = [&](const Stream& other) {
    if (other.last() != nullptr) points.push_back(other.last());
  };
  if (&stream == &first) {
    for (const Stream* other : state.running) {
      if (other != &first && other->device() == stream.device() && other->is_blocking()) {
        wait_for_last(*other);
      }
    }
  } else if (stream.is_blocking()) {
    wait_for_last(first);
  }
  return stream.push(std::move(task), std::move(points));
}

cudaError_t submit(State& state, Stream& stream, Step step) {
  if (const cudaError_t status = check_capture(state, stream); status != cudaSuccess) return status;
  if (stream.capture != nullptr) {
    add_node(state, stream, std::move(step));
  } else {
    push(state, stream, make_task(step, stream.device()));
  }
  return cudaSuccess;
}

bool can_access(int device, const Allocation& allocation) {
  if (allocation.kind != MemoryKind::device || allocation.device == device) return true;
  State& now = state();
  Lock lock(now.mutex);
  return now.peers.contains({device, allocation.device});
}

cudaError_t enqueue(cudaStream_t handle, Work work) {
  return call([&](State& state, Lock&) -> cudaError_t {
    Stream* stream = state.find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return submit(state, *stream, WorkStep{std::make_shared<const Work>(std::move(work))});
  });
}

void* host_address(const void* address) {
  const Allocation* found = state().memory.find(address);
  if (found == nullptr) return nullptr;
  return found->buffer.host + (static_cast<const std::byte*>(address) - found->buffer.device);
}

bool is_accessible(const void* address, std::size_t bytes) {
  return state().memory.find(address, bytes) != nullptr;
}

}  // namespace towerflow::cuda::host
