#pragma once

#include <string>

#include "core/graph/graph.h"

namespace towerflow::summary {

/// Returns the graph as a serialized GraphDef for display in TensorBoard. Nodes of ops that do not
/// list their arguments have no attributes except shapes.
/// (tf.Graph.as_graph_def(add_shapes=True).SerializeToString())
std::string serialize_graph(const Graph& graph);

}  // namespace towerflow::summary
