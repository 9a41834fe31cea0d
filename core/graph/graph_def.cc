#include "core/graph/graph_def.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/graph/export_form.h"
#include "core/graph/graph.h"
#include "core/graph/node_attrs.h"

namespace towerflow {

NodeDef node_def(const Node& node, bool may_lack_attributes) {
  NodeDef def{node.name, node.op->name, {}, node.device, {}};
  if (!may_lack_attributes || lists_attributes(node)) def.attr = node_attributes(node);
  for (const Tensor& input : node.inputs) {
    const std::string& name = input.node().name;
    def.input.push_back(input.index() == 0 ? name : fmt::format("{}:{}", name, input.index()));
  }
  const auto first_control = static_cast<std::ptrdiff_t>(def.input.size());
  for (const Node* control : node.control_inputs) def.input.push_back("^" + control->name);
  std::sort(def.input.begin() + first_control, def.input.end());
  if (!node.colocation_groups.empty()) def.attr.emplace("_class", node.colocation_groups);
  if (!node.gradient_op_type.empty()) def.attr.emplace("_gradient_op_type", node.gradient_op_type);
  return def;
}

GraphDef Graph::as_graph_def(AsGraphDefOptions options) const {
  GraphDef def;
  const auto is_taken = [&](const std::string& name) { return find(name) != nullptr; };
  for (const Operation& op : get_operations()) {
    const Node& node = op.node();
    NodeDef made = node_def(node, options.for_display);
    if (options.add_shapes && !node.outputs.empty()) {
      std::vector<Shape> shapes;
      for (const OutputSpec& output : node.outputs) shapes.push_back(output.shape);
      made.attr.emplace("_output_shapes", std::move(shapes));
    }
    if (node.op->export_form == nullptr || options.for_display) {
      def.node.push_back(std::move(made));
      continue;
    }
    for (NodeDef& part : write_form(node, made, is_taken)) def.node.push_back(std::move(part));
  }
  return def;
}

}  // namespace towerflow
