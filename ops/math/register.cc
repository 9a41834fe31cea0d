#include "ops/math/register.h"

#include "ops/math/families.h"

namespace towerflow {

void register_math_ops(OpRegistry& registry) {
  register_add_n_ops(registry);
  register_argmax_ops(registry);
  register_binary_ops(registry);
  register_cumsum_ops(registry);
  register_l2_loss_ops(registry);
  register_matmul_ops(registry);
  register_range_ops(registry);
  register_reduce_ops(registry);
  register_segment_ops(registry);
  register_sum_to_shape_ops(registry);
  register_unary_ops(registry);
}

void register_math_kernels(KernelTable& table) {
  register_add_n_kernels(table);
  register_argmax_kernels(table);
  register_binary_kernels(table);
  register_cumsum_kernels(table);
  register_l2_loss_kernels(table);
  register_matmul_kernels(table);
  register_range_kernels(table);
  register_reduce_kernels(table);
  register_segment_kernels(table);
  register_sum_to_shape_kernels(table);
  register_unary_kernels(table);
}

void register_math_rewrites(std::vector<RewriteRule>&) {}

}  // namespace towerflow
