#include "ops/fusion.h"

#include <algorithm>
#include <vector>

namespace towerflow {

bool can_defer(const PlanGraph& graph, int first, int last) {
  const std::vector<ValueId>& read = graph.nodes[static_cast<std::size_t>(first)].inputs;
  return std::none_of(read.begin(), read.end(), [&](ValueId input) {
    const int variable = graph.root_variable(input);
    return variable >= 0 && graph.index->written_between(variable, first, last);
  });
}

const PlanNode* fusible_producer(const PlanGraph& graph, ValueId value, int consumer,
                                 const char* op) {
  const PlanNode& producer = graph.node(value);
  const PlanNode& last = graph.nodes[static_cast<std::size_t>(consumer)];
  const bool fits = !producer.dead && producer.feed < 0 && producer.op->name == op &&
                    producer.device == last.device && producer.control.empty() &&
                    !producer.is_known(static_cast<std::size_t>(value.output)) &&
                    graph.uses(value) == 1 && can_defer(graph, value.node, consumer);
  return fits ? &producer : nullptr;
}

}  // namespace towerflow
