#pragma once

#include <vector>

#include "core/graph/rewrite.h"

namespace towerflow::nn {

void register_conv2d_rules(std::vector<RewriteRule>& rules);
void register_cross_entropy_rules(std::vector<RewriteRule>& rules);
void register_fused_matmul_rules(std::vector<RewriteRule>& rules);
void register_pool_rules(std::vector<RewriteRule>& rules);

}  // namespace towerflow::nn
