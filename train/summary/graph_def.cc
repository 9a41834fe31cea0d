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
  auto& attributes = *proto.mutable_attr();
  if (!node.outputs.empty()) {
    for (const OutputSpec& output : node.outputs) {
      fill(*attributes["_output_shapes"].mutable_list()->add_shape(), output.shape);
    }
    if (node.inputs.empty()) {
      attributes["dtype"].set_type(static_cast<int>(node.outputs[0].dtype));
    }
  }
  for (const std::string& group : node.colocation_groups) {
    attributes["_class"].mutable_list()->add_s(group);
  }
}

}  // namespace

std::string serialize_graph(const Graph& graph) {
  proto::GraphDef proto;
  for (const Operation& op : graph.get_operations()) fill(*proto.add_node(), op);
  return serialize_deterministically(proto);
}

}  // namespace towerflow::summary
