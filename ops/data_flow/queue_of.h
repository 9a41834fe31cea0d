#pragma once

#include "core/device/backend.h"
#include "core/device/kernel.h"
#include "ops/data_flow/queue_resource.h"

namespace towerflow {

/// Returns the queue whose handle is input `input` of a launch. Throws InvalidArgumentError if the
/// handle is not that of a queue.
QueueResource& queue_of(const LaunchArgs& args, std::size_t input);

/// Returns the caller for a launch on `queue`, which must be a device queue of the CPU.
QueueCaller caller_of(Queue& queue, const LaunchArgs& args);

}  // namespace towerflow
