#include "ops/array/register.h"

#include "ops/array/families.h"

namespace towerflow {

void register_array_ops(OpRegistry& registry) {
  register_boolean_mask_ops(registry);
  register_broadcast_to_ops(registry);
  register_cast_ops(registry);
  register_concat_ops(registry);
  register_fill_ops(registry);
  register_gather_ops(registry);
  register_identity_n_ops(registry);
  register_one_hot_ops(registry);
  register_pad_ops(registry);
  register_placeholder_ops(registry);
  register_rank_size_ops(registry);
  register_select_ops(registry);
  register_placeholder_with_default_ops(registry);
  register_shape_ops(registry);
  register_slice_ops(registry);
  register_split_ops(registry);
  register_stack_ops(registry);
  register_strided_slice_ops(registry);
  register_tile_ops(registry);
  register_transpose_ops(registry);
  register_view_ops(registry);
}

void register_array_kernels(KernelTable& table) {
  register_boolean_mask_kernels(table);
  register_broadcast_to_kernels(table);
  register_cast_kernels(table);
  register_concat_kernels(table);
  register_fill_kernels(table);
  register_gather_kernels(table);
  register_identity_n_kernels(table);
  register_one_hot_kernels(table);
  register_pad_kernels(table);
  register_placeholder_kernels(table);
  register_rank_size_kernels(table);
  register_select_kernels(table);
  register_placeholder_with_default_kernels(table);
  register_shape_kernels(table);
  register_slice_kernels(table);
  register_split_kernels(table);
  register_stack_kernels(table);
  register_strided_slice_kernels(table);
  register_tile_kernels(table);
  register_transpose_kernels(table);
  register_view_kernels(table);
}

void register_array_rewrites(std::vector<RewriteRule>&) {}

}  // namespace towerflow
