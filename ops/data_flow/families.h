#pragma once

#include "core/device/backend.h"

namespace towerflow {

void register_assert_ops(OpRegistry& registry);
void register_assert_kernels(KernelTable& table);
void register_decode_raw_ops(OpRegistry& registry);
void register_decode_raw_kernels(KernelTable& table);
void register_padding_queue_ops(OpRegistry& registry);
void register_queue_ops(OpRegistry& registry);
void register_queue_kernels(KernelTable& table);

}  // namespace towerflow
