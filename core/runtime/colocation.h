#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/device_spec.h"
#include "core/graph/node.h"

namespace towerflow {

/// The colocation groups of a whole graph and the device that each group requests, merged from the
/// requests of its members.
class ColocationGroups {
 public:
  /// Adds the next node of the graph. Throws InvalidArgumentError if its device conflicts with that
  /// of its group; with soft placement the group drops its device index or type instead. A node
  /// that was refused is in no group.
  void add(const Node& node, bool soft);

  /// Returns the device that the node's group requests, or the node's own request if it is in no
  /// group.
  const std::string& device(const Node& node) const;

 private:
  struct Group {
    std::string name{};  ///< name of a member
    DeviceSpec spec{};
    std::string text{};  ///< text of `spec`
  };

  int find(const std::string& node) const;
  int find_or_add(const Node& node);  // a new group requests the node's device
  void unite(int own, int group);
  void merge(int group, const std::string& name, const DeviceSpec& asked, bool soft,
             const Node& cause);

  std::unordered_map<std::string, int> group_of_;  // by node name
  std::vector<int> parents_;                       // union-find forest of the groups
  std::vector<int> sizes_;                         // per root: number of groups in its tree
  std::vector<Group> groups_;
};

}  // namespace towerflow
