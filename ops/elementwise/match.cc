// Decides which nodes may be steps of which programs.
#include "ops/elementwise/match.h"

#include <algorithm>

#include "ops/elementwise/loops.h"

namespace towerflow {
namespace {

bool known_shapes(const PlanGraph& graph, const PlanNode& node) {
  return node.outputs[0].shape.fully_known() &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return graph.spec(input).shape.fully_known(); });
}

/// Returns whether a node adds gradients of several accelerators that NCCL can add. With the other
/// algorithms such a node becomes a step of a chain, whose inputs are gathered.
bool adds_towers(const PlanGraph& graph, const PlanNode& node) {
  if (graph.all_reduce.algorithm != AllReduce::nccl || node.op->name != "AddN") return false;
  const auto on_accelerator = [&](ValueId input) {
    return graph.accelerators[static_cast<std::size_t>(graph.node(input).device)];
  };
  const int first = graph.node(node.inputs.front()).device;
  return std::all_of(node.inputs.begin(), node.inputs.end(), on_accelerator) &&
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return graph.node(input).device != first; });
}

}  // namespace

bool is_elementwise(const PlanGraph& graph, const PlanNode& node) {
  if (node.dead || node.feed >= 0 || node.outputs.size() != 1 || node.is_known(0)) return false;
  if (node.op->name == "_Elementwise") return true;
  if (adds_towers(graph, node)) return false;
  const OutputSpec& output = node.outputs[0];
  const OpDef& op = *node.op;
  if (op.elementwise == nullptr || output.is_ref || node.inputs.empty()) return false;
  std::vector<OutputSpec> inputs;
  std::vector<DType> dtypes;
  for (const ValueId input : node.inputs) {
    inputs.push_back(graph.spec(input));
    dtypes.push_back(inputs.back().dtype);
  }
  const bool folds = !op.fold_op.empty() && dtypes.size() > 1;
  if (folds) dtypes = {output.dtype, output.dtype};
  return step_loop(folds ? op.fold_op : op.name, dtypes, output.dtype).has_value() &&
         known_shapes(graph, node) && op.elementwise(node.attrs, inputs, output);
}

bool matches(const PlanGraph& graph, int id, int last) {
  const PlanNode& node = node_at(graph, id);
  const PlanNode& end = node_at(graph, last);
  return node.device == end.device && node.control.empty() && is_elementwise(graph, node) &&
         node.outputs[0].shape == end.outputs[0].shape;
}

bool joins_consumer_chain(const PlanGraph& graph, int id) {
  if (graph.is_fetched({id, 0}) || graph.index->is_awaited(id)) return false;
  const int reader = graph.index->only_reader({id, 0});
  return reader >= 0 && is_elementwise(graph, node_at(graph, reader)) && matches(graph, id, reader);
}

}  // namespace towerflow
