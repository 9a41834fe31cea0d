#pragma once

#include "core/graph/plan_graph.h"

namespace towerflow {

inline const PlanNode& node_at(const PlanGraph& graph, int id) {
  return graph.nodes[static_cast<std::size_t>(id)];
}

/// Whether a node may be a step of a program, or is a program already.
bool is_elementwise(const PlanGraph& graph, const PlanNode& node);

/// Whether a node may be a step of what ends in `last`, as far as the two of them tell.
bool matches(const PlanGraph& graph, int id, int last);

/// Returns whether the only consumer of a node will include it in its own chain.
bool joins_consumer_chain(const PlanGraph& graph, int id);

}  // namespace towerflow
