#include "ops/data_flow/register.h"

#include "ops/data_flow/families.h"

namespace towerflow {

void register_data_flow_ops(OpRegistry& registry) {
  register_assert_ops(registry);
  register_decode_raw_ops(registry);
  register_padding_queue_ops(registry);
  register_queue_ops(registry);
}

void register_data_flow_kernels(KernelTable& table) {
  register_assert_kernels(table);
  register_decode_raw_kernels(table);
  register_queue_kernels(table);
}

void register_data_flow_rewrites(std::vector<RewriteRule>&) {}

}  // namespace towerflow
