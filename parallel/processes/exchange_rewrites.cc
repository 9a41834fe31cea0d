// The rewrite of gradients that processes exchange.
#include <cstddef>
#include <utility>
#include <vector>

#include "ops/fusion.h"
#include "ops/variables/gradient_form_attrs.h"
#include "parallel/processes/exchange_ops.h"

namespace towerflow::parallel::processes {
namespace {

/// Returns whether `value` is a mean over one tower, which differs from that tower's gradient in
/// the sign of zeros alone. An exchange adds from zero, so that it gets the same from both.
bool is_mean_of_one(const PlanGraph& graph, ValueId value, int reader) {
  const PlanNode& node = graph.node(value);
  if (node.dead || node.feed >= 0 || node.op->name != "_MeanOfN") return false;
  const PlanNode& last = graph.nodes[static_cast<std::size_t>(reader)];
  const auto& form = node.attrs.as<GradientForm>();
  const bool changes = form.towers != 1 || form.weighted || form.divided || form.divisor != 1;
  return !changes && node.device == last.device && node.control.empty() &&
         can_defer(graph, value.node, reader);
}

/// An exchange of means over one tower -> the same of that tower's gradients
bool take_gradients_of_one_tower(PlanGraph& graph, int id) {
  const PlanNode& node = graph.nodes[static_cast<std::size_t>(id)];
  std::vector<ValueId> inputs = node.inputs;
  bool changed = false;
  for (ValueId& input : inputs) {
    if (!is_mean_of_one(graph, input, id)) continue;
    input = graph.node(input).inputs[0];
    changed = true;
  }
  return changed && graph.replace(id, node.op->name, node.attrs, std::move(inputs));
}

}  // namespace

void register_exchange_rules(std::vector<RewriteRule>& rules) {
  rules.push_back({"exchange of one tower's mean",
                   "updates",
                   take_gradients_of_one_tower,
                   {kMeanEnd, kMeanStart},
                   {"ConcatV2", "ExpandDims", "Mean", "Pack"}});
}

}  // namespace towerflow::parallel::processes
