#pragma once

#include "core/device/backend.h"

namespace towerflow {

void register_boolean_mask_ops(OpRegistry& registry);
void register_boolean_mask_kernels(KernelTable& table);
void register_broadcast_to_ops(OpRegistry& registry);
void register_broadcast_to_kernels(KernelTable& table);
void register_cast_ops(OpRegistry& registry);
void register_cast_kernels(KernelTable& table);
void register_concat_ops(OpRegistry& registry);
void register_concat_kernels(KernelTable& table);
void register_fill_ops(OpRegistry& registry);
void register_fill_kernels(KernelTable& table);
void register_gather_ops(OpRegistry& registry);
void register_gather_kernels(KernelTable& table);
void register_one_hot_ops(OpRegistry& registry);
void register_one_hot_kernels(KernelTable& table);
void register_pad_ops(OpRegistry& registry);
void register_pad_kernels(KernelTable& table);
void register_placeholder_ops(OpRegistry& registry);
void register_placeholder_kernels(KernelTable& table);
void register_rank_size_ops(OpRegistry& registry);
void register_rank_size_kernels(KernelTable& table);
void register_select_ops(OpRegistry& registry);
void register_select_kernels(KernelTable& table);
void register_placeholder_with_default_ops(OpRegistry& registry);
void register_placeholder_with_default_kernels(KernelTable& table);
void register_shape_ops(OpRegistry& registry);
void register_shape_kernels(KernelTable& table);
void register_slice_ops(OpRegistry& registry);
void register_slice_kernels(KernelTable& table);
void register_split_ops(OpRegistry& registry);
void register_split_kernels(KernelTable& table);
void register_stack_ops(OpRegistry& registry);
void register_stack_kernels(KernelTable& table);
void register_strided_slice_ops(OpRegistry& registry);
void register_strided_slice_kernels(KernelTable& table);
void register_tile_ops(OpRegistry& registry);
void register_tile_kernels(KernelTable& table);
void register_transpose_ops(OpRegistry& registry);
void register_transpose_kernels(KernelTable& table);
void register_identity_n_ops(OpRegistry& registry);
void register_identity_n_kernels(KernelTable& table);
void register_view_ops(OpRegistry& registry);
void register_view_kernels(KernelTable& table);

}  // namespace towerflow
