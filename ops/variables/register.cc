#include "ops/variables/register.h"

#include "ops/variables/families.h"
#include "ops/variables/mean_update.h"

namespace towerflow {

void register_variable_ops(OpRegistry& registry) {
  register_storage_ops(registry);
  register_assign_ops(registry);
  register_apply_ops(registry);
  register_adaptive_ops(registry);
  register_initialization_ops(registry);
  register_mean_update_ops(registry);
  register_count_up_to_ops(registry);
}

void register_variable_kernels(KernelTable& table) {
  register_assign_kernels(table);
  register_apply_kernels(table);
  register_adaptive_kernels(table);
  register_initialization_kernels(table);
  register_mean_update_kernels(table);
  register_count_up_to_kernels(table);
}

void register_variable_rewrites(std::vector<RewriteRule>& rules) {
  register_mean_update_rules(rules);
}

}  // namespace towerflow
