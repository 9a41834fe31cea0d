#include "ops/nn/register.h"

#include "ops/nn/families.h"
#include "ops/nn/rules.h"

namespace towerflow {

void register_nn_ops(OpRegistry& registry) {
  nn::register_activation_ops(registry);
  nn::register_bias_add_ops(registry);
  nn::register_conv2d_ops(registry);
  nn::register_cross_entropy_ops(registry);
  nn::register_fused_matmul_ops(registry);
  nn::register_in_top_k_ops(registry);
  nn::register_pool_ops(registry);
  nn::register_relu_ops(registry);
  nn::register_scaled_cross_entropy_ops(registry);
  nn::register_soft_cross_entropy_ops(registry);
  nn::register_softmax_ops(registry);
}

void register_nn_kernels(KernelTable& table) {
  nn::register_activation_kernels(table);
  nn::register_bias_add_kernels(table);
  nn::register_conv2d_kernels(table);
  nn::register_cross_entropy_kernels(table);
  nn::register_fused_matmul_kernels(table);
  nn::register_in_top_k_kernels(table);
  nn::register_pool_kernels(table);
  nn::register_relu_kernels(table);
  nn::register_scaled_cross_entropy_kernels(table);
  nn::register_soft_cross_entropy_kernels(table);
  nn::register_softmax_kernels(table);
}

void register_nn_rewrites(std::vector<RewriteRule>& rules) {
  nn::register_conv2d_rules(rules);
  nn::register_cross_entropy_rules(rules);
  nn::register_fused_matmul_rules(rules);
  nn::register_pool_rules(rules);
}

}  // namespace towerflow
