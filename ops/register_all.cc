// Everything the library brings: ops, backends, CPU kernels, rewrite rules, folder by folder.
// Nothing registers itself from a static initialiser.
#include <vector>

#include "core/device/backend_registry.h"
#include "core/device/cpu/cpu_backend.h"
#include "core/device/sim/sim_backend.h"
#include "core/graph/constant.h"
#include "ops/array/register.h"
#include "ops/control/register.h"
#include "ops/data_flow/register.h"
#include "ops/elementwise/register.h"
#include "ops/math/register.h"
#include "ops/nn/register.h"
#include "ops/random/register.h"
#include "ops/register_above.h"
#include "ops/variables/register.h"

namespace towerflow {
void register_builtin_ops(OpRegistry& registry) {
  registry.add(const_op());
  register_array_ops(registry);
  register_control_ops(registry);
  register_data_flow_ops(registry);
  register_elementwise_ops(registry);
  register_math_ops(registry);
  register_nn_ops(registry);
  register_random_ops(registry);
  register_variable_ops(registry);
  register_input_ops(registry);
  register_train_ops(registry);
}

void register_backends(std::vector<BackendEntry>& entries) {
  entries.push_back({"CPU", make_cpu_backend});
  entries.push_back({"SIM", make_sim_backend});
}

void register_cpu_kernels(KernelTable& table) {
  register_array_kernels(table);
  register_elementwise_kernels(table);
  register_math_kernels(table);
  register_nn_kernels(table);
  register_random_kernels(table);
  register_variable_kernels(table);
  register_data_flow_kernels(table);
  register_input_kernels(table);
  register_train_kernels(table);
}

void register_rewrite_rules(std::vector<RewriteRule>& rules) {
  register_array_rewrites(rules);
  register_data_flow_rewrites(rules);
  register_math_rewrites(rules);
  register_nn_rewrites(rules);
  register_random_rewrites(rules);
  register_variable_rewrites(rules);
  register_elementwise_rewrites(rules);  // last: takes what the others have left
}

}  // namespace towerflow
