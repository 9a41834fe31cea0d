#pragma once

#include "core/runtime/frame.h"
#include "core/runtime/workers.h"

namespace towerflow {

/// One run of a plan in a frame that has begun.
struct Execution {
  const Plan& plan;
  Frame& frame;
  RunContext& context;
  KernelCache& kernels;
  const DeviceSet& devices;
  bool trace = false;  ///< whether the frame keeps the spans
  double start = 0;    ///< of the run, for spans: `wall_now` then
};

/// Seconds of the steady clock.
double wall_now();

/// Returns when every queue has drained; rethrows the first error, with node, op, device, input
/// shapes and the user's line.
void execute(const Execution& run, Workers& workers);

}  // namespace towerflow
