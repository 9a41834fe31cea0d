#pragma once

#include <vector>

#include "core/device/backend.h"
#include "core/graph/op_def.h"
#include "core/graph/rewrite.h"

namespace towerflow {

/// What a family registers, each part optional: its op definitions, their CPU kernels, rewrite
/// rules and passes for plans.
struct OpFamily {
  void (*ops)(OpRegistry&) = nullptr;
  void (*kernels)(KernelTable&) = nullptr;
  void (*rules)(std::vector<RewriteRule>&) = nullptr;
  void (*passes)(std::vector<PlanPass>&) = nullptr;
};

}  // namespace towerflow
