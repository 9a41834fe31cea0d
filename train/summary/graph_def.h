#pragma once

#include <string>

#include "core/graph/graph.h"

namespace towerflow::summary {

/// The graph as a serialized GraphDef for TensorBoard. A node of an op that does not list its
/// arguments has no attributes but shapes: it is to be looked at.
/// (tf.Graph.as_graph_def(add_shapes=True).SerializeToString())
std::string serialize_graph(const Graph& graph);

}  // namespace towerflow::summary
