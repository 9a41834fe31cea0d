// Pass 1: from the tape to the graph of a plan.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/level_builder.h"

namespace towerflow {
namespace {

/// Returns the nodes needed for the fetches, in tape order; the walk stops at fed tensors.
std::vector<const Node*> needed_nodes(std::span<const Fetch> fetches, const FedTensors& fed) {
  std::vector<const Node*> stack, found;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) stack.push_back(node);
  };
  const auto visit_tensor = [&](const Tensor& tensor) {
    if (!fed.contains(tape_value(tensor))) visit(&tensor.node());
  };
  for (const Fetch& fetch : fetches) {
    if (fetch.tensor())
      visit_tensor(*fetch.tensor());
    else
      visit(&fetch.operation().node());
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    found.push_back(node);
    for (const Tensor& input : node->inputs) visit_tensor(input);
    for (const Node* control : node->control_inputs) {
      if (!is_fed_source(*control, fed)) visit(control);
    }
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
  return found;
}

}  // namespace

PlanGraph build_plan_graph(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                           PassLog& log) {
  FedTensors fed;
  for (std::size_t i = 0; i < feeds.size(); ++i)
    fed[tape_value(feeds[i].tensor)] = static_cast<int>(i);
  const std::vector<const Node*> tape = needed_nodes(fetches, fed);
  const bool flows =
      std::any_of(tape.begin(), tape.end(), [](const Node* n) { return is_flow(*n); });
  const LoopFrames frames(flows ? tape : std::vector<const Node*>());
  LevelBuilder level(frames, frames.root(), fed);
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const FeedSpec& feed = feeds[i];
    level.add_feed(tape_value(feed.tensor), static_cast<int>(i), {feed.dtype, feed.shape, false},
                   feed.tensor.op().type() != "Placeholder");
  }
  std::vector<Tensor> tensors;
  std::vector<const Node*> targets;
  for (const Fetch& fetch : fetches) {
    if (fetch.tensor())
      tensors.push_back(*fetch.tensor());
    else
      targets.push_back(&fetch.operation().node());
  }
  PlanGraph graph = level.build(tensors, targets, fetches);
  log.add(fmt::format("prune: {} of the tape's nodes are needed, {} tensors are fed", tape.size(),
                      feeds.size()));
  return graph;
}

}  // namespace towerflow
