#pragma once

#include "core/device/kernel.h"
#include "ops/data_flow/queue_resource.h"

namespace towerflow {

/// The queue whose handle is input `input` of a launch. InvalidArgumentError when the handle is of
/// something else.
QueueResource& queue_of(const LaunchArgs& args, std::size_t input);

}  // namespace towerflow
