// Registers everything the library provides: ops, backends, CPU kernels, rewrite rules. Nothing
// registers itself from a static initializer.
#include <vector>

#include "core/device/backend_registry.h"
#include "core/device/cpu/cpu_backend.h"
#include "core/device/sim/sim_backend.h"
#include "core/graph/constant.h"
#include "ops/families.h"
#include "ops/family.h"

namespace towerflow {

#define TOWERFLOW_DECLARE(name) OpFamily name##_family();
TOWERFLOW_OP_FAMILIES(TOWERFLOW_DECLARE)
#undef TOWERFLOW_DECLARE

namespace {

/// Calls `visit` with each family, in the order of ops/families.h.
template <class Visit>
void for_each_family(const Visit& visit) {
#define TOWERFLOW_VISIT(name) visit(name##_family());
  TOWERFLOW_OP_FAMILIES(TOWERFLOW_VISIT)
#undef TOWERFLOW_VISIT
}

}  // namespace

void register_builtin_ops(OpRegistry& registry) {
  registry.add(const_op());
  for_each_family([&](const OpFamily& family) {
    if (family.ops != nullptr) family.ops(registry);
  });
}

void register_backends(std::vector<BackendEntry>& entries) {
  entries.push_back({"CPU", make_cpu_backend});
  entries.push_back({"SIM", make_sim_backend});
  entries.push_back({"GPU", make_cuda_backend});
}

void register_cpu_kernels(KernelTable& table) {
  for_each_family([&](const OpFamily& family) {
    if (family.kernels != nullptr) family.kernels(table);
  });
}

void register_rewrite_rules(std::vector<RewriteRule>& rules) {
  for_each_family([&](const OpFamily& family) {
    if (family.rules != nullptr) family.rules(rules);
  });
}

void register_plan_passes(std::vector<PlanPass>& passes) {
  for_each_family([&](const OpFamily& family) {
    if (family.passes != nullptr) family.passes(passes);
  });
}

}  // namespace towerflow
