#pragma once

#include <filesystem>
#include <string>

#include "core/graph/graph.h"
#include "core/graph/graph_def.h"

namespace towerflow::io {

/// Writes a graph to a file in `logdir`, which is created if missing: as text, readable by people
/// and TensorFlow, or as bytes for `GraphDef::FromString`. Returns the path of the file.
/// errors   those of Graph::as_graph_def and of writing a file
/// source   tf.io.write_graph
std::filesystem::path write_graph(const GraphDef& graph_def, const std::filesystem::path& logdir,
                                  std::string_view name, bool as_text = true);
std::filesystem::path write_graph(const Graph& graph, const std::filesystem::path& logdir,
                                  std::string_view name, bool as_text = true);

}  // namespace towerflow::io

namespace towerflow::train {
using io::write_graph;
}  // namespace towerflow::train
