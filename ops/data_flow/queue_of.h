#pragma once

#include "core/device/backend.h"
#include "core/device/kernel.h"
#include "ops/data_flow/queue_resource.h"

namespace towerflow {

/// The queue whose handle is input `input` of a launch. InvalidArgumentError when the handle is of
/// something else.
QueueResource& queue_of(const LaunchArgs& args, std::size_t input);

/// Whoever a launch on a queue of the CPU may wait for.
QueueCaller caller_of(Queue& queue, const LaunchArgs& args);

}  // namespace towerflow
