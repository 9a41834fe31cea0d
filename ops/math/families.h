#pragma once

#include "core/device/backend.h"

namespace towerflow {

void register_add_n_ops(OpRegistry& registry);
void register_add_n_kernels(KernelTable& table);
void register_argmax_ops(OpRegistry& registry);
void register_argmax_kernels(KernelTable& table);
void register_binary_ops(OpRegistry& registry);
void register_binary_kernels(KernelTable& table);
void register_cumsum_ops(OpRegistry& registry);
void register_cumsum_kernels(KernelTable& table);
void register_l2_loss_ops(OpRegistry& registry);
void register_l2_loss_kernels(KernelTable& table);
void register_matmul_ops(OpRegistry& registry);
void register_matmul_kernels(KernelTable& table);
void register_range_ops(OpRegistry& registry);
void register_range_kernels(KernelTable& table);
void register_reduce_ops(OpRegistry& registry);
void register_reduce_kernels(KernelTable& table);
void register_segment_ops(OpRegistry& registry);
void register_segment_kernels(KernelTable& table);
void register_sum_to_shape_ops(OpRegistry& registry);
void register_sum_to_shape_kernels(KernelTable& table);
void register_unary_ops(OpRegistry& registry);
void register_unary_kernels(KernelTable& table);

}  // namespace towerflow
