#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace towerflow::summary {

/// The graph as a serialized GraphDef for TensorBoard: each node with name, op, device, inputs
/// (control inputs too), the shapes of its outputs, what it is placed with, and the dtype of one
/// without inputs. Other attributes are not written: it shows a graph, and does not rebuild one.
/// (tf.Graph.as_graph_def(add_shapes=True).SerializeToString())
std::string serialize_graph(const Graph& graph);

/// A node of a GraphDef, as far as it is read here.
struct GraphDefNode {
  std::string name;
  std::string op;
  std::string device;
  std::vector<std::string> inputs;  ///< "node", "node:1", "^node" for a control input

  bool operator==(const GraphDefNode&) const = default;
};

/// The nodes of a serialized GraphDef, in its order. Throws DataLossError for bytes that are none,
/// ResourceExhaustedError for more than 2^20 nodes.
std::vector<GraphDefNode> parse_graph(std::string_view bytes);

}  // namespace towerflow::summary
