#pragma once

#include "core/graph/plan_graph.h"

namespace towerflow {

/// Returns whether the node at `first` may compute its result at the position of `last` instead: no
/// variable behind its inputs is written between the two.
bool can_defer(const PlanGraph& graph, int first, int last);

/// Returns the producer of `value` if `consumer` may compute it itself, else nullptr. The producer
/// must be a live `op` on the consumer's device, read by the consumer only, with no control inputs,
/// not fed and not already known; `can_defer` must hold for it.
const PlanNode* fusible_producer(const PlanGraph& graph, ValueId value, int consumer,
                                 const char* op);

inline bool is_float32(const PlanGraph& graph, ValueId value) {
  return graph.spec(value).dtype == DType::float32;
}

}  // namespace towerflow
