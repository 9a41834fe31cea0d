#pragma once

#include <vector>

#include "core/graph/plan_graph.h"
#include "core/runtime/device_set.h"
#include "tests/ops/cases/build_case.h"

namespace towerflow::testing {

/// Returns the nodes of a built case that a run fed with `arrays` needs, before placement and
/// rewrites.
PlanGraph plan_case(const BuiltCase& built, const std::vector<Array>& arrays);

/// Chooses a device for every node of a planned case. Throws InvalidArgumentError if no device has
/// a kernel.
void place_case(PlanGraph& graph, const BuiltCase& built, const DeviceSet& devices);

/// Applies constant folding, sharing of equal subexpressions and rewrites to a placed case.
PlanGraph rewrite_case(PlanGraph graph, const DeviceSet& devices);

}  // namespace towerflow::testing
