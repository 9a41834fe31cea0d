#pragma once

#include <vector>

#include "core/device/backend.h"
#include "core/graph/rewrite.h"

namespace towerflow {

/// Adds what this folder brings; called from ops/register_all.cc. Its rule takes what the others
/// have left, so it comes last.
void register_elementwise_ops(OpRegistry& registry);
void register_elementwise_kernels(KernelTable& table);
void register_elementwise_rewrites(std::vector<RewriteRule>& rules);

}  // namespace towerflow
