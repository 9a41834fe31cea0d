#pragma once

#include "cuda/host/state.h"
#include "cuda/host/step.h"

namespace towerflow::cuda::host {

/// Puts a task into a stream that is not captured, behind the work of stream 0 or of the blocking
/// streams as CUDA's legacy default stream demands, and behind `points`.
PointPtr push(State& state, Stream& stream, Task task, std::vector<PointPtr> points = {});

/// Puts a step into a stream, or into the graph that it is captured for. The state is locked.
cudaError_t submit(State& state, Stream& stream, Step step);

/// Returns whether the work of a device may use an allocation: any but that of another device
/// without access to it.
bool can_access(int device, const Allocation& allocation);

}  // namespace towerflow::cuda::host
