#pragma once

#include "core/device/backend.h"

namespace towerflow::nn {

void register_activation_ops(OpRegistry& registry);
void register_activation_kernels(KernelTable& table);
void register_bias_add_ops(OpRegistry& registry);
void register_bias_add_kernels(KernelTable& table);
void register_conv2d_ops(OpRegistry& registry);
void register_conv2d_kernels(KernelTable& table);
void register_cross_entropy_ops(OpRegistry& registry);
void register_cross_entropy_kernels(KernelTable& table);
void register_fused_matmul_ops(OpRegistry& registry);
void register_fused_matmul_kernels(KernelTable& table);
void register_in_top_k_ops(OpRegistry& registry);
void register_in_top_k_kernels(KernelTable& table);
void register_pool_ops(OpRegistry& registry);
void register_pool_kernels(KernelTable& table);
void register_relu_ops(OpRegistry& registry);
void register_relu_kernels(KernelTable& table);
void register_scaled_cross_entropy_ops(OpRegistry& registry);
void register_scaled_cross_entropy_kernels(KernelTable& table);
void register_soft_cross_entropy_ops(OpRegistry& registry);
void register_soft_cross_entropy_kernels(KernelTable& table);
void register_softmax_ops(OpRegistry& registry);
void register_softmax_kernels(KernelTable& table);

}  // namespace towerflow::nn
