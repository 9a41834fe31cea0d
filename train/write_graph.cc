#include "train/write_graph.h"

#include <google/protobuf/text_format.h>

#include "data/file.h"
#include "train/summary/graph_def.pb.h"

namespace towerflow::io {

std::filesystem::path write_graph(const GraphDef& graph_def, const std::filesystem::path& logdir,
                                  std::string_view name, bool as_text) {
  std::string bytes = graph_def.SerializeToString();
  if (as_text) {
    proto::GraphDef proto;
    std::string text;
    if (!proto.ParseFromString(bytes) ||
        !google::protobuf::TextFormat::PrintToString(proto, &text)) {
      throw errors::InternalError("a GraphDef has no text");
    }
    bytes = std::move(text);
  }
  make_folder(logdir);
  const std::filesystem::path path = logdir / name;
  AtomicFile file(path);
  file.append(bytes);
  file.commit();
  return path;
}

std::filesystem::path write_graph(const Graph& graph, const std::filesystem::path& logdir,
                                  std::string_view name, bool as_text) {
  return write_graph(graph.as_graph_def(), logdir, name, as_text);
}

}  // namespace towerflow::io
