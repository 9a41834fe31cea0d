#pragma once

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

void register_input_position_ops(OpRegistry& registry);
void register_input_position_kernels(KernelTable& table);

}  // namespace towerflow
