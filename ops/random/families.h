#pragma once

#include "core/device/backend.h"

namespace towerflow {

void register_draw_ops(OpRegistry& registry);
void register_draw_kernels(KernelTable& table);
void register_shuffle_ops(OpRegistry& registry);
void register_shuffle_kernels(KernelTable& table);

}  // namespace towerflow
