#include "ops/random/register.h"

#include "ops/random/families.h"

namespace towerflow {

void register_random_ops(OpRegistry& registry) {
  register_draw_ops(registry);
  register_shuffle_ops(registry);
}

void register_random_kernels(KernelTable& table) {
  register_draw_kernels(table);
  register_shuffle_kernels(table);
}

void register_random_rewrites(std::vector<RewriteRule>&) {}

}  // namespace towerflow
