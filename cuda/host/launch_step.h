#pragma once

#include <cuda_runtime_api.h>

#include "cuda/host/state.h"
#include "cuda/host/step.h"

namespace towerflow::cuda::host {

/// Makes the step of a launch, or returns 98 for a null kernel, 400 for what is no kernel, 1 for a
/// launch over a limit.
cudaError_t make_launch(const State& state, const void* function, const Launch& launch,
                        void* const* arguments, KernelStep& step);

}  // namespace towerflow::cuda::host
