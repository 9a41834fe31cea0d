#pragma once

#include <vector>

#include "core/device/backend.h"
#include "core/graph/rewrite.h"

namespace towerflow {

/// Adds what this folder brings; called from ops/register_all.cc.
void register_data_flow_ops(OpRegistry& registry);
void register_data_flow_kernels(KernelTable& table);
void register_data_flow_rewrites(std::vector<RewriteRule>& rules);

}  // namespace towerflow
