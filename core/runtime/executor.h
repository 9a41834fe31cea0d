#pragma once

#include "core/runtime/frame.h"
#include "core/runtime/workers.h"

namespace towerflow {

/// Runs a plan in a frame that has begun. Returns when every queue has drained; rethrows the first
/// error, with node, op, device, input shapes and the user's line.
void execute(const Plan& plan, Frame& frame, RunContext& run, KernelCache& kernels,
             Workers& workers);

}  // namespace towerflow
