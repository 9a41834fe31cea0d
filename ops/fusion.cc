#include "ops/fusion.h"

#include <algorithm>
#include <vector>

namespace towerflow {

bool can_wait(const PlanGraph& graph, int first, int last) {
  std::vector<int> read;
  for (const ValueId input : graph.nodes[static_cast<std::size_t>(first)].inputs) {
    const int variable = graph.variable_behind(input);
    if (variable >= 0) read.push_back(variable);
  }
  if (read.empty()) return true;
  for (int i = first + 1; i < last; ++i) {
    const PlanNode& between = graph.nodes[static_cast<std::size_t>(i)];
    if (between.dead) continue;
    for (const int written : between.op->written) {
      const int variable = graph.variable_behind(between.inputs[static_cast<std::size_t>(written)]);
      if (std::find(read.begin(), read.end(), variable) != read.end()) return false;
    }
  }
  return true;
}

const PlanNode* only_for(const PlanGraph& graph, ValueId value, int consumer, const char* op) {
  const PlanNode& producer = graph.node(value);
  const PlanNode& last = graph.nodes[static_cast<std::size_t>(consumer)];
  const bool fits = !producer.dead && producer.feed < 0 && producer.op->name == op &&
                    producer.device == last.device && producer.control.empty() &&
                    !producer.is_known(static_cast<std::size_t>(value.output)) &&
                    graph.uses(value) == 1 && can_wait(graph, value.node, consumer);
  return fits ? &producer : nullptr;
}

}  // namespace towerflow
