#include "core/graph/loop_frames.h"

#include "core/graph/control_flow.h"
#include "core/graph/control_flow_attrs.h"
#include "core/graph/error.h"
#include "core/graph/op_def.h"

namespace towerflow {

bool is_flow(const Node& node) {
  return is_switch(node) || is_merge(node) || is_loop_enter(node) || is_loop_exit(node) ||
         is_next_iteration(node);
}

bool is_loop_merge(const Node& node) {
  return is_merge(node) && node.inputs.size() == 2 && is_next_iteration(node.inputs[1].node());
}

void throw_unsupported(const Node& node, const std::string& what) {
  throw errors::UnimplementedError(what,
                                   {.site = node.site, .node = node.name, .op = node.op->name});
}

LoopFrames::LoopFrames(const std::vector<const Node*>& nodes) : nodes_(nodes.begin(), nodes.end()) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Node* node : nodes) {
      if (!frames_.contains(node)) changed = find(*node) || changed;
    }
  }
}

bool LoopFrames::find(const Node& node) {
  const LoopFrame* before = nullptr;
  if (node.inputs.empty() && node.control_inputs.empty()) before = &root_;
  for (const Tensor& input : node.inputs) {
    const auto found = frames_.find(&input.node());
    if (found != frames_.end()) before = found->second;
    // Values are fed at the root.
    if (before == nullptr && !nodes_.contains(&input.node())) before = &root_;
  }
  for (const Node* control : node.control_inputs) {
    if (before != nullptr) break;
    const auto found = frames_.find(control);
    if (found != frames_.end()) before = found->second;
    if (before == nullptr && !nodes_.contains(control)) before = &root_;
  }
  if (before == nullptr) return false;
  const LoopFrame* frame = before;
  if (is_loop_enter(node)) {
    auto& made = children_[{before, node.attrs.as<EnterAttrs>().frame_name}];
    if (made == nullptr) {
      made = std::make_unique<LoopFrame>(LoopFrame{before, node.attrs.as<EnterAttrs>().frame_name});
    }
    frame = made.get();
  } else if (is_loop_exit(node)) {
    if (before->parent == nullptr) throw_unsupported(node, "an Exit outside of a loop");
    frame = before->parent;
  }
  frames_[&node] = frame;
  return true;
}

}  // namespace towerflow
