#pragma once

#include "core/graph/plan_graph.h"

namespace towerflow {

/// Whether a node at `first` may as well compute its result where `last` stands: no variable that
/// its inputs look into is written between the two.
bool can_wait(const PlanGraph& graph, int first, int last);

/// The producer of `value`, when it is a living `op` on the device of `consumer` whose output
/// nobody but `consumer` reads and that the consumer may compute itself: it waits for nothing by
/// control, and `can_wait`. nullptr otherwise.
const PlanNode* only_for(const PlanGraph& graph, ValueId value, int consumer, const char* op);

/// Whether `value` is float32.
inline bool is_float32(const PlanGraph& graph, ValueId value) {
  return graph.spec(value).dtype == DType::float32;
}

}  // namespace towerflow
