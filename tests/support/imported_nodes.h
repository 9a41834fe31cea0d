#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_def.h"

namespace towerflow::testing {

/// Returns what import_graph_def makes of nodes: one that is colocated with others has the device
/// of the first of them that has one, and never its own (`_ProcessNewOps` in TensorFlow's
/// importer).
inline std::vector<NodeDef> as_imported(std::vector<NodeDef> nodes) {
  constexpr std::string_view kPrefix = "loc:@";
  const auto others = [&](const NodeDef& node) {
    std::vector<std::string> names;
    const auto at = node.attr.find("_class");
    if (at == node.attr.end()) return names;
    for (const std::string& group : *at->second.get_if<std::vector<std::string>>()) {
      std::string name = group.substr(kPrefix.size());
      if (name != node.name) names.push_back(std::move(name));
    }
    return names;
  };
  std::map<std::string, std::string> devices;
  for (const NodeDef& node : nodes) devices[node.name] = others(node).empty() ? node.device : "";
  for (NodeDef& node : nodes) {
    std::string& device = devices[node.name];
    for (const std::string& other : others(node)) {
      if (device.empty()) device = devices.at(other);
    }
    node.device = device;
  }
  return nodes;
}

}  // namespace towerflow::testing
