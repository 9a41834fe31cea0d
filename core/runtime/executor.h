#pragma once

#include <functional>

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
  /// Called before each instruction with the numbers of its queue and of itself; optional. What it
  /// throws is an error of that instruction.
  std::function<void(std::size_t queue, std::size_t instruction)> before{};
};

/// Returns when every queue has drained; rethrows the first error, with node, op, device, input
/// shapes and the user's line.
void execute(const Execution& run, Workers& workers);

}  // namespace towerflow
