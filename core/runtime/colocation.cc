#include "core/runtime/colocation.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace towerflow {
namespace {

/// Merges `given` into `part`; returns false if both are set and differ.
template <typename T>
bool merge_field(std::optional<T>& part, const std::optional<T>& given) {
  if (!given) return true;
  if (part && *part != *given) return false;
  part = given;
  return true;
}

}  // namespace

int ColocationGroups::find(const std::string& node) const {
  const auto found = group_of_.find(node);
  if (found == group_of_.end()) return -1;
  int group = found->second;
  while (parents_[static_cast<std::size_t>(group)] != group) {
    group = parents_[static_cast<std::size_t>(group)];
  }
  return group;
}

int ColocationGroups::find_or_add(const Node& node) {
  if (const int group = find(node.name); group >= 0) return group;
  const int group = static_cast<int>(groups_.size());
  groups_.push_back({.name = node.name, .spec = DeviceSpec::parse(node.device, node.site)});
  groups_.back().text = groups_.back().spec.text();
  parents_.push_back(group);
  sizes_.push_back(1);
  group_of_[node.name] = group;
  return group;
}

/// Unites two groups. The root of the larger tree stays the root, which keeps paths short.
void ColocationGroups::unite(int own, int group) {
  const auto from = static_cast<std::size_t>(own), to = static_cast<std::size_t>(group);
  if (sizes_[from] > sizes_[to]) {
    groups_[from] = std::move(groups_[to]);
    std::swap(own, group);
  }
  parents_[static_cast<std::size_t>(own)] = group;
  sizes_[static_cast<std::size_t>(group)] = sizes_[from] + sizes_[to];
}

/// Merges a device request into a group, like MergeDevNames in TensorFlow's device_name_utils.cc.
void ColocationGroups::merge(int index, const std::string& name, const DeviceSpec& asked, bool soft,
                             const Node& cause) {
  Group& group = groups_[static_cast<std::size_t>(index)];
  DeviceSpec spec = group.spec;
  const auto refuse = [&](const char* what) {
    throw errors::InvalidArgumentError(
        fmt::format("Cannot colocate nodes {{{{colocation_node {}}}}} and {{{{colocation_node "
                    "{}}}}}: Cannot merge devices with incompatible {}: '{}' and '{}'",
                    name, group.name, what, group.text, asked.text()),
        {.site = cause.site,
         .node = cause.name,
         .op = cause.op->name,
         .device = cause.device,
         .hint = "colocated operations run on one device: leave tf::device out, or set "
                 "allow_soft_placement"});
  };
  if (!merge_field(spec.job, asked.job)) refuse("jobs");
  if (!merge_field(spec.replica, asked.replica)) refuse("replicas");
  if (!merge_field(spec.task, asked.task)) refuse("tasks");
  if (!merge_field(spec.type, asked.type)) {
    if (!soft) refuse("types");
    spec.type.reset();
    spec.index.reset();
  } else if (!merge_field(spec.index, asked.index)) {
    if (!soft) refuse("ids");
    spec.index.reset();
  }
  group.spec = std::move(spec);
  group.text = group.spec.text();
}

void ColocationGroups::add(const Node& node, bool soft) {
  for (const std::string& tie : node.colocation_groups) {
    const std::string name = tie.substr(tie.find('@') + 1);
    if (name == node.name) continue;
    const Node* other = node.graph->find_published(name);
    if (other == nullptr) continue;  // created later, or creating it failed
    const int group = find_or_add(*other);
    const int own = find(node.name);
    if (own == group) continue;
    if (own < 0) {
      merge(group, node.name, DeviceSpec::parse(node.device, node.site), soft, node);
      group_of_[node.name] = group;
    } else {
      const Group& mine = groups_[static_cast<std::size_t>(own)];
      merge(group, mine.name, mine.spec, soft, node);
      unite(own, group);
    }
  }
}

const std::string& ColocationGroups::device(const Node& node) const {
  const int group = find(node.name);
  return group < 0 ? node.device : groups_[static_cast<std::size_t>(group)].text;
}

}  // namespace towerflow
