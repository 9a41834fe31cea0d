#pragma once

#include <vector>

#include "core/graph/plan_graph.h"

namespace towerflow {

/// Returns the flops and bytes of a node.
inline Cost cost_in(const PlanGraph& graph, const PlanNode& node) {
  std::vector<OutputSpec> inputs;
  for (ValueId input : node.inputs) inputs.push_back(graph.spec(input));
  return cost_of(*node.op, inputs, node.outputs);
}

/// Estimates the time from flops and bytes at typical rates of one core, where only the order of
/// magnitude counts.
inline double estimated_seconds(const Cost& cost) {
  constexpr double kLaunch = 1e-6, kFlopsPerSecond = 50e9, kBytesPerSecond = 10e9;
  return kLaunch + cost.flops / kFlopsPerSecond + cost.bytes / kBytesPerSecond;
}

}  // namespace towerflow
