#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/device_spec.h"
#include "core/graph/node.h"

namespace towerflow {

/// The groups of operations that share a device, over a whole graph, and what each group asks for:
/// what its members ask for together.
class ColocationGroups {
 public:
  /// Takes in the next node of the graph. Throws InvalidArgumentError where it asks for another
  /// device than its group; with soft placement the group then asks for no number, or for no type.
  /// A node that was refused is in no group.
  void add(const Node& node, bool soft);

  /// The device asked for by the node's group; by the node itself when it is in none.
  const std::string& device(const Node& node) const;

 private:
  struct Group {
    std::string name{};  ///< of a node that belongs to it
    DeviceSpec spec{};
    std::string text{};  ///< of spec
  };

  int find(const std::string& node) const;
  int find_or_add(const Node& node);  // its device is the new group's
  void unite(int own, int group);
  void merge(int group, const std::string& name, const DeviceSpec& asked, bool soft,
             const Node& cause);

  std::unordered_map<std::string, int> group_of_;  // by name of a node
  std::vector<int> parents_;                       // of groups that were united
  std::vector<int> sizes_;                         // of each root: how many groups it is of
  std::vector<Group> groups_;
};

}  // namespace towerflow
