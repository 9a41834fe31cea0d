#pragma once

#include <string>

#include "core/graph/operand.h"

namespace towerflow {

/// A stack of tensors, which lives as long as a run. Loops keep the values of their iterations on
/// stacks for the gradients. (gen_data_flow_ops.stack_v2)
Tensor stack_v2(const Tensor& max_size, DType elem_type, const std::string& name, Site site);

/// Pushes a tensor and returns it. (gen_data_flow_ops.stack_push_v2)
Tensor stack_push_v2(const Tensor& handle, const Tensor& elem, bool swap_memory, Site site);

/// Pops the last tensor. (gen_data_flow_ops.stack_pop_v2)
Tensor stack_pop_v2(const Tensor& handle, DType elem_type, Site site);

}  // namespace towerflow
