#include "autodiff/why_none_paths.h"

#include <algorithm>
#include <deque>

#include "core/graph/gradient_registry.h"
#include "core/graph/graph.h"
#include "core/graph/op_def.h"

namespace towerflow {
namespace {

bool carries_no_gradient(const Node& node) {
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [](const OutputSpec& output) { return is_differentiable(output.dtype); });
}

/// Returns why the op of a node never passes a gradient to its inputs; nullopt if it may.
std::optional<Cut> break_of_op(const Node& node) {
  const OpGradient* gradient = gradient_function(node);
  if (gradient == nullptr) {
    const auto* none = std::get_if<NoGradient>(&node.op->gradient);
    return Cut{NoneCause::no_gradient_op, &node, nullptr,
               !node.gradient_op_type.empty()
                   ? "there is no registered gradient '" + node.gradient_op_type + "'"
                   : none->reason};
  }
  const auto* none = std::get_if<NoGradient>(gradient);
  if (none == nullptr) return std::nullopt;
  const OpDef& op = *node.op;
  NoneCause cause = NoneCause::no_gradient_op;
  if (op.name == "StopGradient") cause = NoneCause::stop_gradient;
  if (op.effect == Effect::writes_variable) cause = NoneCause::assignment;
  // An integer that is known without running anything depends only on shapes.
  if (op.constant && carries_no_gradient(node)) cause = NoneCause::indices_or_shape;
  return Cut{cause, &node, nullptr, none->reason};
}

}  // namespace

std::unordered_set<const Node*> training_nodes(const Graph& graph) {
  std::unordered_set<const Node*> training;
  for (const Operation& op : graph.get_operations()) {
    const Node& node = op.node();
    if (node.role != NodeRole::program ||
        std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](const Tensor& input) { return training.contains(&input.node()); })) {
      training.insert(&node);
    }
  }
  return training;
}

Paths::Paths(const Tensor& y, const Tensor& x) : y_(y), x_(x) {
  // Ids grow along the tape: first down from y to its ancestors, then up again from x.
  std::unordered_set<const Node*> seen;
  std::deque<const Node*> queue{&y.node()};
  seen.insert(&y.node());
  while (!queue.empty()) {
    const Node* node = queue.front();
    queue.pop_front();
    ancestors_.push_back(node);
    for (const Tensor& input : node->inputs) {
      if (seen.insert(&input.node()).second) queue.push_back(&input.node());
    }
  }
  std::sort(ancestors_.begin(), ancestors_.end(),
            [](const Node* a, const Node* b) { return a->id < b->id; });
  for (const Node* node : ancestors_) {
    for (const Tensor& input : node->inputs) {
      if (depends_on_x(input, on_path_)) on_path_.insert(node);
    }
  }
}

const Node* Paths::consumer(const Node* node) const {
  for (const Node* next : ancestors_) {
    for (const Tensor& input : next->inputs) {
      if (&input.node() == node) return next;
    }
  }
  return nullptr;
}

Cut Paths::find_break(const FlowRecord& record, const WhyNoneOptions& options) const {
  if (!is_differentiable(x_.dtype())) return break_of_integer();
  std::unordered_set<const Node*> open;  // from which a gradient would flow back to x
  std::optional<Cut> best;
  for (const Node* node : ancestors_) {
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const Tensor& input = node->inputs[i];
      if (!depends_on_x(input, open)) continue;
      std::optional<Cut> here = break_at(*node, i, record, options);
      if (!here) {
        open.insert(node);
        continue;
      }
      if (here->towards_x == nullptr) here->towards_x = &input.node();
      if (!best || here->cause < best->cause) best = here;
    }
  }
  return best.value();
}

std::optional<Cut> Paths::break_at(const Node& node, std::size_t input, const FlowRecord& record,
                                   const WhyNoneOptions& options) const {
  const Tensor& from = node.inputs[input];
  if (!is_differentiable(from.dtype())) {  // name the op that makes the integers
    Cut made{NoneCause::integer, &from.node(), nullptr};
    for (const Tensor& before : from.node().inputs) {
      if (depends_on_x(before, on_path_)) made.towards_x = &before.node();
    }
    return made;
  }
  const auto& stops = options.stop_gradients;
  if (std::any_of(stops.begin(), stops.end(),
                  [&](const GradientTarget& stop) { return &stop.tensor().node() == &node; })) {
    return Cut{NoneCause::stop_gradients_argument, &node, nullptr};
  }
  if (auto by_op = break_of_op(node)) return by_op;
  const auto step = record.steps.find(&node);
  if (step == record.steps.end() || step->second.passed_gradient.at(input)) return std::nullopt;
  if (carries_no_gradient(node)) return Cut{NoneCause::integer, &node, nullptr};
  return Cut{NoneCause::no_gradient_op, &node, nullptr,
             "its gradient gives nothing for input " + std::to_string(input)};
}

/// For an x of integers or bools: returns where these enter values that carry gradients.
Cut Paths::break_of_integer() const {
  std::unordered_set<const Node*> integers;
  const Node* first = nullptr;
  for (const Node* node : ancestors_) {
    for (const Tensor& input : node->inputs) {
      if (!depends_on_x(input, integers)) continue;
      if (first == nullptr) first = node;
      if (carries_no_gradient(*node)) {
        integers.insert(node);
        continue;
      }
      return {node->op->name == "Cast" ? NoneCause::integer : NoneCause::indices_or_shape, node,
              &input.node()};
    }
  }
  return {NoneCause::integer, first, &x_.node()};
}

Detour::Detour(const Tensor& y, const Tensor& x, const std::vector<const Node*>& ancestors,
               bool control)
    : control_(control) {
  find_writers(*y.node().graph, ancestors);
  std::deque<const Node*> queue{&y.node()};
  came_from_[&y.node()] = {nullptr, Edge::data};
  while (!queue.empty()) {
    const Node* at = queue.front();
    queue.pop_front();
    // Control inputs and assignments reach x's op by any of its outputs, data only by x itself.
    const auto visit = [&](const Node* next, Edge edge) {
      if (next == &x.node() && edge != Edge::data) return true;
      if (came_from_.try_emplace(next, Step{at, edge}).second) queue.push_back(next);
      return false;
    };
    std::optional<Edge> arrived;
    for (const Tensor& input : at->inputs) {
      visit(&input.node(), Edge::data);
      if (input == x) arrived = Edge::data;
    }
    const auto writers = writers_.find(at);
    if (writers != writers_.end()) {
      for (const Node* writer : writers->second) {
        if (visit(writer, Edge::assignment)) arrived = Edge::assignment;
      }
    }
    if (control_) {
      for (const Node* before : at->control_inputs) {
        if (visit(before, Edge::control)) arrived = Edge::control;
      }
    }
    if (arrived) {
      name(&x.node(), {at, *arrived});
      return;
    }
  }
}

void Detour::find_writers(const Graph& graph, const std::vector<const Node*>& ancestors) {
  const std::unordered_set<const Node*> own(ancestors.begin(), ancestors.end());
  const std::unordered_set<const Node*> training = training_nodes(graph);
  for (const Operation& op : graph.get_operations()) {
    const Node& writer = op.node();
    if (training.contains(&writer) && !own.contains(&writer)) continue;
    for (const int written : writer.op->written) {
      const Node& variable = writer.inputs[static_cast<std::size_t>(written)].node();
      writers_[&variable].push_back(&writer);
    }
  }
}

/// Records the last crossing on the path to y that starts at x with the step `first`.
void Detour::name(const Node* x, Step first) {
  const Node* before = x;
  Step step = first;
  for (const Node* at = x; at != nullptr;) {
    if (step.edge == Edge::control) {
      node = step.to;
      towards_x = at;
      towards_y = came_from_.at(step.to).to;
    } else if (step.edge == Edge::assignment && !control_) {
      node = at;
      towards_x = before;
      towards_y = step.to;
    }
    before = at;
    at = step.to;
    if (at != nullptr) step = came_from_.at(at);
  }
}

}  // namespace towerflow
