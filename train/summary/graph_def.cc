#include "train/summary/graph_def.h"

#include "core/graph/graph_def.h"
#include "data/serialize.h"
#include "train/summary/attr_proto.h"
#include "train/summary/graph_def.pb.h"
#include "train/summary/packed_items.h"

namespace towerflow {
namespace {

// The version of TensorFlow 1.15, whose ops these are.
constexpr int kProducer = 134;

void write_node(const NodeDef& node, proto::NodeDef& proto) {
  proto.set_name(node.name);
  proto.set_op(node.op);
  proto.set_device(node.device);
  for (const std::string& input : node.input) proto.add_input(input);
  for (const auto& [name, value] : node.attr) {  // sorted by name
    proto::NodeDef::Attr& attr = *proto.add_attr();
    attr.set_key(name);
    write_attr(value, *attr.mutable_value());
  }
}

NodeDef read_node(const proto::NodeDef& proto) {
  NodeDef node{
      proto.name(), proto.op(), {proto.input().begin(), proto.input().end()}, proto.device(), {}};
  for (const proto::NodeDef::Attr& attr : proto.attr()) {
    try {
      node.attr.insert_or_assign(attr.key(), read_attr(attr.value()));
    } catch (const errors::DataLossError& error) {
      throw errors::DataLossError(
          fmt::format("attribute '{}' of node '{}': {}", attr.key(), node.name, error.message()));
    }
  }
  return node;
}

}  // namespace

GraphDef GraphDef::FromString(std::string_view bytes) {
  GraphDef def;
  proto::NodeDef proto;
  summary::for_each_item(bytes, "GraphDef", [&](std::string_view item) {
    if (!summary::parse_message(item, proto)) return false;
    def.node.push_back(read_node(proto));
    return true;
  });
  return def;
}

std::string GraphDef::SerializeToString() const {
  proto::GraphDef proto;
  for (const NodeDef& one : node) write_node(one, *proto.add_node());
  proto.mutable_versions()->set_producer(kProducer);
  return serialize_message(proto);
}

namespace summary {

std::string serialize_graph(const Graph& graph) {
  return graph.as_graph_def({.add_shapes = true, .for_display = true}).SerializeToString();
}

}  // namespace summary
}  // namespace towerflow
