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

/// A node in TensorFlow's file format. (tf.NodeDef)
struct NodeDef {
  std::string name;
  std::string op;
  std::vector<std::string> input;  ///< "node", "node:1", then "^node" for a control input
  std::string device;
  AttrMap attr;

  bool operator==(const NodeDef&) const = default;
};

/// A graph in TensorFlow's file format. (tf.GraphDef)
struct GraphDef {
  std::vector<NodeDef> node;

  /// Throws DataLossError for bytes that are not a GraphDef, ResourceExhaustedError for more than
  /// 2^20 nodes and for a tensor of more than 256 MiB that is given by a few values.
  static GraphDef FromString(std::string_view bytes);
  /// Throws InvalidArgumentError for 2 GiB or more.
  std::string SerializeToString() const;

  bool operator==(const GraphDef&) const = default;
};

struct ImportGraphDefOptions {
  /// Tensors that nodes get in place of inputs in the GraphDef, which are the keys: "x", "x:1".
  std::map<std::string, Tensor> input_map{};
  /// The elements to return: "x:0" for a tensor, "x" for an operation.
  std::vector<std::string> return_elements{};
  std::optional<std::string> name{};  ///< name scope, by default "import"; "" for the root
};

}  // namespace towerflow::types

namespace towerflow {

/// Adds the nodes of a GraphDef to the default graph, all or none, in their own name scope. Open
/// device scopes complete the requests of the nodes; open control dependencies apply to all nodes.
///
/// errors   ValueError: names, inputs, attributes, shapes and dtypes that do not fit, a cycle;
///          NotFoundError: an op that is not registered; UnimplementedError: a value of an
///          attribute that the library does not support
/// source   tf.import_graph_def
std::vector<Fetch> import_graph_def(const GraphDef& graph_def, ImportGraphDefOptions options = {},
                                    Site site = Site::current());

/// Returns the NodeDef of a node, without `_output_shapes`. Throws UnimplementedError for an op
/// that does not list its arguments and attributes, unless `may_lack_attributes`.
NodeDef node_def(const Node& node, bool may_lack_attributes = false);

}  // namespace towerflow
