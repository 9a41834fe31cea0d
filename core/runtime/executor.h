#pragma once

#include <cstdint>
#include <functional>

#include "core/runtime/frame.h"
#include "core/runtime/loop_plan.h"
#include "core/runtime/workers.h"

namespace towerflow {

class RunAccesses;
class RunTrace;
class VirtualHost;

/// One run of a plan. `frame.begin` has been called.
struct Execution {
  const Plan& plan;
  Frame& frame;
  RunContext& context;
  KernelCache& kernels;
  const DeviceSet& devices;
  ArenaPool* arenas = nullptr;          ///< for loops
  SubplanCompiler* compiler = nullptr;  ///< for loops
  Workers* workers = nullptr;           ///< for loops; set by `execute`
  bool in_loop = false;                 ///< it is an iteration of a loop
  std::uint64_t number = 0;             ///< of this execution, mixed; set by `execute`
  RunAccesses* accesses = nullptr;      ///< optional: watches variables
  VirtualHost* virtual_host = nullptr;  ///< optional: the host's core is shared with other runs
  int worker = 0;                       ///< of `virtual_host`
  double virtual_start = 0;             ///< the worker's time when the run began
  RunTrace* trace = nullptr;  ///< optional: times are stored in the frame; gets those of loops
  /// Optional; called before each instruction with the indices of its queue and of itself. An
  /// exception from it counts as an error of that instruction.
  std::function<void(std::size_t queue, std::size_t instruction)> before{};
};

/// Executes a plan and returns when every queue has drained. Rethrows the first error with its
/// node, op, device, input shapes and the user's line.
void execute(Execution run, Workers& workers);

}  // namespace towerflow
