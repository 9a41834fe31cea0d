#pragma once

#include "core/device/backend.h"
#include "core/graph/rewrite.h"

namespace towerflow {

/// Ops of plans alone: the mean of the towers' gradients, and that mean applied in the same pass
/// over memory. Rewrites make them of expand_dims, concat, reduce_mean and an Apply op.
///
/// _MeanOfN: inputs the N gradients. _MeanApplyGradientDescent: var, alpha, gradients.
/// _MeanApplyMomentum: var, accum, rate, momentum, gradients.
void register_mean_update_ops(OpRegistry& registry);
void register_mean_update_kernels(KernelTable& table);
void register_mean_update_rules(std::vector<RewriteRule>& rules);

}  // namespace towerflow
