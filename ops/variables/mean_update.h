#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/device/backend.h"
#include "core/graph/rewrite.h"

namespace towerflow {

/// Ops of plans alone: the average of the towers' gradients, and that average applied in the same
/// pass over memory. Rewrites make them of what averages (ops/variables/update_rewrites.cc) and an
/// Apply op; the attributes are a GradientForm, which says what the average is.
///
/// _MeanOfN: inputs of the form. _MeanApplyX, for each ApplyX: variable, slots, scalars in their
/// order, inputs of the form. _MeanSparseApplyX, for each SparseApplyX: the same with values of
/// slices as gradients, then the indices of all of them.
///
/// _MovingAverage: variable, 1 - decay, value; made of an AssignSub and what it subtracts.
void register_mean_update_ops(OpRegistry& registry);
void register_mean_update_kernels(KernelTable& table);
void register_mean_update_rules(std::vector<RewriteRule>& rules);

/// An optimizer's update that has a fused one: its name without "Apply", what stands before and
/// behind the gradient, and whether there is one for rows.
struct UpdateFamily {
  const char* name;
  std::size_t slots, scalars, before_gradient;
  bool rows;
};
std::span<const UpdateFamily> update_families();

}  // namespace towerflow
