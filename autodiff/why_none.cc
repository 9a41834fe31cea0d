#include "autodiff/why_none.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include "autodiff/why_none_paths.h"
#include "autodiff/why_none_text.h"
#include "core/graph/op_def.h"
#include "core/graph/trial.h"
#include "ops/variables/copies.h"

namespace towerflow {
namespace {

Operation handle(const Node* node) { return Operation(const_cast<Node*>(node)); }

/// Returns the last node on the tape that is computed from `node`. Training nodes do not count
/// unless `node` is one.
const Node* last_descendant(const Node& node) {
  const std::unordered_set<const Node*> training = training_nodes(*node.graph);
  const bool whole = training.contains(&node);
  std::unordered_set<const Node*> behind{&node};
  const Node* last = &node;
  const std::vector<Operation> all = node.graph->get_operations();
  for (std::size_t id = static_cast<std::size_t>(node.id) + 1; id < all.size(); ++id) {
    const Node& next = all[id].node();
    if (!whole && training.contains(&next)) continue;
    if (std::any_of(next.inputs.begin(), next.inputs.end(),
                    [&](const Tensor& input) { return behind.contains(&input.node()); })) {
      behind.insert(&next);
      last = &next;
    }
  }
  return last;
}

/// Explains the lack of a data path: a counterpart in another tower, a detour, or no connection at
/// all.
WhyNone without_path(const Tensor& y, const Tensor& x, const Paths& paths) {
  WhyNone why;
  why.node = x.op();
  if (const Node* twin = tower_counterpart(x.node(), y.node(), paths.ancestors())) {
    why.cause = NoneCause::other_tower;
    why.towards_x = handle(last_descendant(x.node()));
    why.towards_y = handle(twin);
    return why;
  }
  for (const bool control : {false, true}) {
    const Detour detour(y, x, paths.ancestors(), control);
    if (!detour.found()) continue;
    why.cause = control ? NoneCause::control_edge : NoneCause::assignment;
    why.node = handle(detour.node);
    why.towards_x = handle(detour.towards_x);
    why.towards_y = handle(detour.towards_y);
    return why;
  }
  const auto& ancestors = paths.ancestors();
  const auto variable = std::find_if(ancestors.rbegin(), ancestors.rend(), [](const Node* node) {
    return node->op->effect == Effect::variable;
  });
  why.towards_x = handle(last_descendant(x.node()));
  if (variable != ancestors.rend()) {
    why.cause = NoneCause::no_path;
    why.towards_y = handle(*variable);
    return why;
  }
  // Prefer what a program puts in over constants, such as axes, that its ops take.
  const auto last_source = [&](bool constants) {
    return std::find_if(ancestors.rbegin(), ancestors.rend(), [&](const Node* node) {
      return node->inputs.empty() && (constants || node->op->name != std::string_view("Const"));
    });
  };
  auto source = last_source(false);
  if (source == ancestors.rend()) source = last_source(true);
  why.cause = NoneCause::y_unconnected;
  why.node = y.op();
  why.towards_y = handle(*source);
  return why;
}

/// Follows the data paths from x, the variable in question or a copy that is read in its place, to
/// y, and says where they are cut. Nothing if there are none.
std::optional<WhyNone> along_paths(const Tensor& y, const Tensor& x, const WhyNoneOptions& options,
                                   Site site) {
  const Paths paths(y, x);
  if (!paths.exist()) return std::nullopt;
  WhyNone why;
  FlowRecord record;
  bool connected = false;
  {
    const GraphTrial trial(y.graph());
    GradientsOptions call;
    call.stop_gradients = options.stop_gradients;
    const NameScope scope(y.graph(), call.name, site);
    std::unique_ptr<LoopGradients> loops;
    connected = sweep({y}, {x}, call, site, loops, &record)[0].has_value();
  }
  if (connected) {
    why.cause = NoneCause::connected;
    why.node = y.op();
    why.towards_x = x.op();
    return why;
  }
  Cut cut = paths.find_break(record, options);
  why.cause = cut.cause;
  why.node = handle(cut.node);
  why.towards_x = handle(cut.towards_x);
  why.towards_y = handle(paths.consumer(cut.node));
  why.reason = std::move(cut.reason);
  return why;
}

WhyNone find_cause(const Tensor& y, const Tensor& x, const WhyNoneOptions& options, Site site) {
  WhyNone why;
  why.node = x.op();
  if (&y.graph() != &x.graph()) {
    why.cause = NoneCause::other_graph;
    return why;
  }
  const bool is_variable = x.node().op->effect == Effect::variable;
  if (options.var_list && is_variable &&
      std::none_of(options.var_list->begin(), options.var_list->end(),
                   [&](const Variable& variable) { return variable.ref() == x; })) {
    why.cause = NoneCause::not_in_var_list;
    return why;
  }
  std::vector<Tensor> read{x};
  for (const Tensor& copy : copies_of(x)) read.push_back(copy);
  std::optional<WhyNone> cut;
  for (const Tensor& one : read) {
    const std::optional<WhyNone> found = along_paths(y, one, options, site);
    if (found && found->connected()) return *found;
    if (!cut) cut = found;
  }
  return cut ? *cut : without_path(y, x, Paths(y, x));
}

}  // namespace

WhyNone why_none(const Tensor& y, const GradientTarget& x, WhyNoneOptions options, Site site) {
  add_copies(options.stop_gradients);
  WhyNone why = find_cause(y, x.differentiable(), options, site);
  why.text = why_none_text(why, y, x.tensor(), options);
  return why;
}

}  // namespace towerflow
