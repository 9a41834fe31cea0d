#pragma once

#include "core/graph/op_def.h"

namespace towerflow {

/// Ops that only order others; the planner drops them, so they have no kernels.
void register_control_ops(OpRegistry& registry);

}  // namespace towerflow
