#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/attr_value.h"
#include "core/graph/fetch.h"
#include "core/graph/node.h"

namespace towerflow::types {

/// A node as TensorFlow's files tell of it.
struct NodeDef {
  std::string name;
  std::string op;
  std::vector<std::string> input;  ///< "node", "node:1", then "^node" for a control input
  std::string device;
  AttrMap attr;

  bool operator==(const NodeDef&) const = default;
};

/// A graph as TensorFlow's files tell of it. (tf.GraphDef)
struct GraphDef {
  std::vector<NodeDef> node;

  /// Throws DataLossError for bytes that are none, ResourceExhaustedError for more than 2^20 nodes
  /// and for a tensor of which a few values stand for more than 256 MiB.
  static GraphDef FromString(std::string_view bytes);
  /// Throws InvalidArgumentError for 2 GiB or more.
  std::string SerializeToString() const;

  bool operator==(const GraphDef&) const = default;
};

struct ImportGraphDefOptions {
  /// Inputs that nodes get from this graph in place of those in the GraphDef: "x", "x:1".
  std::map<std::string, Tensor> input_map{};
  /// What is returned: "x:0" for a tensor, "x" for an operation.
  std::vector<std::string> return_elements{};
  std::optional<std::string> name{};  ///< of the scope, "import"; "" is the root
};

}  // namespace towerflow::types

namespace towerflow {

/// Adds the nodes of a GraphDef to the default graph, all or none, under a name scope of their own.
/// Open device scopes count where a node asks for nothing, and control dependencies for all.
///
/// errors   ValueError: names, inputs, attributes, shapes and dtypes that do not fit, a cycle;
///          NotFoundError: an op that is not registered; UnimplementedError: a value of an
///          attribute that the library does not compute
/// source   tf.import_graph_def
std::vector<Fetch> import_graph_def(const GraphDef& graph_def, ImportGraphDefOptions options = {},
                                    Site site = Site::current());

/// The NodeDef of a node, without `_output_shapes`. Throws UnimplementedError for an op that does
/// not list its arguments and attributes, unless it may lack them.
NodeDef node_def(const Node& node, bool may_lack_attributes = false);

}  // namespace towerflow
