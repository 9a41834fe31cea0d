#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/node.h"

namespace towerflow {

/// A loop, inside which nodes run repeatedly; the root is the frame of all other nodes.
struct LoopFrame {
  const LoopFrame* parent = nullptr;
  std::string name;
};

/// The frames of the nodes that a run needs. A node is in the frame of its inputs, an Enter in one
/// inside it; an Exit is in the frame that it leads to.
class LoopFrames {
 public:
  explicit LoopFrames(const std::vector<const Node*>& nodes);
  const LoopFrame* root() const { return &root_; }
  const LoopFrame* of(const Node& node) const {
    const auto found = frames_.find(&node);
    return found == frames_.end() ? &root_ : found->second;
  }
  /// Returns the loop that an Exit leaves.
  const LoopFrame* left_by(const Node& exit) const { return of(exit.inputs[0].node()); }
  /// Returns whether a frame is `outer` or inside it.
  static bool is_inside(const LoopFrame* frame, const LoopFrame* outer) {
    for (; frame != nullptr; frame = frame->parent) {
      if (frame == outer) return true;
    }
    return false;
  }

 private:
  bool find(const Node& node);

  std::unordered_set<const Node*> nodes_;
  LoopFrame root_;
  std::unordered_map<const Node*, const LoopFrame*> frames_;
  std::map<std::pair<const LoopFrame*, std::string>, std::unique_ptr<LoopFrame>> children_;
};

/// Returns whether a node is one of those that make branches and loops.
bool is_flow(const Node& node);
/// Returns whether a node is the Merge of a loop variable.
bool is_loop_merge(const Node& node);
[[noreturn]] void throw_unsupported(const Node& node, const std::string& what);

}  // namespace towerflow
