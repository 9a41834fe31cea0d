#pragma once

#include "core/graph/plan_graph.h"

namespace towerflow {

inline const PlanNode& node_at(const PlanGraph& graph, int id) {
  return graph.nodes[static_cast<std::size_t>(id)];
}

/// Returns whether a node may be a step of a program, or is a program already.
bool is_elementwise(const PlanGraph& graph, const PlanNode& node);

/// Returns whether a node may be a step of a chain that ends in `last`, judging only by the two
/// nodes.
bool matches(const PlanGraph& graph, int id, int last);

/// Returns whether the only consumer of a node will include it in its own chain.
bool joins_consumer_chain(const PlanGraph& graph, int id);

}  // namespace towerflow
