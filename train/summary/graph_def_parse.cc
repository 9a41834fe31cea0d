#include "train/summary/graph_def.h"
#include "train/summary/graph_def.pb.h"
#include "train/summary/packed_items.h"

namespace towerflow::summary {

std::vector<GraphDefNode> parse_graph(std::string_view bytes) {
  std::vector<GraphDefNode> nodes;
  proto::NodeDef proto;
  for_each_item(bytes, "GraphDef", [&](std::string_view item) {
    if (!parse_message(item, proto)) return false;
    nodes.push_back(
        {proto.name(), proto.op(), proto.device(), {proto.input().begin(), proto.input().end()}});
    return true;
  });
  return nodes;
}

}  // namespace towerflow::summary
