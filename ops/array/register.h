#pragma once

#include <vector>

#include "core/device/backend.h"
#include "core/graph/rewrite.h"

namespace towerflow {

/// Adds what this folder brings; called from ops/register_all.cc.
void register_array_ops(OpRegistry& registry);
void register_array_kernels(KernelTable& table);
void register_array_rewrites(std::vector<RewriteRule>& rules);

}  // namespace towerflow
