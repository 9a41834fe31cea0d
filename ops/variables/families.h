#pragma once

#include "core/device/backend.h"
#include "core/graph/op_def.h"

namespace towerflow {

void register_storage_ops(OpRegistry& registry);
void register_assign_ops(OpRegistry& registry);
void register_assign_kernels(KernelTable& table);
void register_apply_ops(OpRegistry& registry);
void register_apply_kernels(KernelTable& table);
void register_adaptive_ops(OpRegistry& registry);
void register_adaptive_kernels(KernelTable& table);
void register_initialization_ops(OpRegistry& registry);
void register_initialization_kernels(KernelTable& table);
void register_count_up_to_ops(OpRegistry& registry);
void register_count_up_to_kernels(KernelTable& table);

}  // namespace towerflow
