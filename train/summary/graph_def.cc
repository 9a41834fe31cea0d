#include "train/summary/graph_def.h"

#include <fmt/format.h>

#include "data/serialize.h"
#include "train/summary/graph_def.pb.h"

namespace towerflow::summary {
namespace {

void fill(proto::TensorShapeProto& proto, const Shape& shape) {
  proto.set_unknown_rank(!shape.has_rank());
  for (const Dim& dim : shape.dims()) proto.add_dim()->set_size(dim.size());
}

proto::AttrValue& add_attr(proto::NodeDef& proto, const char* name) {
  proto::NodeDef::Attr& attr = *proto.add_attr();
  attr.set_key(name);
  return *attr.mutable_value();
}

void fill(proto::NodeDef& proto, const Operation& op) {
  const Node& node = op.node();
  proto.set_name(node.name);
  proto.set_op(op.type());
  proto.set_device(node.device);
  for (const Tensor& input : node.inputs) {
    std::string& name = *proto.add_input();
    name = input.op().name();
    if (input.index() != 0) name += fmt::format(":{}", input.index());
  }
  for (const Node* control : node.control_inputs) proto.add_input("^" + control->name);
  // In the order of their names.
  if (!node.colocation_groups.empty()) {
    proto::AttrValue& groups = add_attr(proto, "_class");
    for (const std::string& group : node.colocation_groups) groups.mutable_list()->add_s(group);
  }
  if (node.outputs.empty()) return;
  proto::AttrValue& shapes = add_attr(proto, "_output_shapes");
  for (const OutputSpec& output : node.outputs) {
    fill(*shapes.mutable_list()->add_shape(), output.shape);
  }
  if (node.inputs.empty()) {
    add_attr(proto, "dtype").set_type(static_cast<int>(node.outputs[0].dtype));
  }
}

}  // namespace

std::string serialize_graph(const Graph& graph) {
  proto::GraphDef proto;
  for (const Operation& op : graph.get_operations()) fill(*proto.add_node(), op);
  return serialize_message(proto);
}

}  // namespace towerflow::summary
