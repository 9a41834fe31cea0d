#include "core/graph/level_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <queue>

#include "core/graph/constant.h"
#include "core/graph/control_flow.h"
#include "core/graph/control_flow_attrs.h"
#include "core/graph/graph.h"
#include "core/graph/graph_mutex.h"

namespace towerflow {
namespace {

/// The op of nodes that stand for fed tensors; never run.
const OpDef& feed_op() {
  static const OpDef def{.name = "_Feed", .shape = {}, .gradient = NoGradient{"a fed value"}};
  return def;
}

/// Returns whether the node is the read that a variable is created with. Other reads of the
/// variable, such as `read_value`, have the value at their own place in the order.
bool is_own_read(const Node& node) {
  if (node.inputs.size() != 1 || !node.control_inputs.empty()) return false;
  const Node& variable = node.inputs[0].node();
  return variable.op->effect == Effect::variable && node.name == variable.name + "/read";
}

/// Returns when one of two conditions holds, if that is a conjunction again: they are equal, one
/// contains the other, or they differ in the branch of one condition.
std::optional<Guards> either(const Guards& a, const Guards& b) {
  Guards common, only_a, only_b;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b));
  if (only_a.empty() || only_b.empty()) return common;
  const bool opposite =
      only_a.size() == 1 && only_b.size() == 1 && only_a[0].pred == only_b[0].pred;
  return opposite ? std::optional(common) : std::nullopt;
}

}  // namespace

Guards united(const Guards& a, const Guards& b) {
  if (b.empty() || a == b) return a;
  Guards both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

bool is_fed_source(const Node& node, const FedTensors& fed) {
  const bool source = node.op->effect == Effect::pure || node.op->effect == Effect::io;
  if (!source || !node.inputs.empty() || node.outputs.empty()) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!fed.contains({&node, static_cast<int>(i)})) return false;
  }
  return true;
}

void LevelBuilder::add_feed(TapeValue key, int feed, const OutputSpec& spec, bool depends_on_feed) {
  PlanNode node;
  node.op = &feed_op();
  node.outputs = {spec};
  node.outputs[0].is_ref = false;
  node.values.resize(1);
  node.origin = key.first;
  node.feed = feed;
  node.depends_on_feed = depends_on_feed;
  add_value(key, std::move(node));
}

void LevelBuilder::add_constant(TapeValue key, Array value) {
  PlanNode node;
  node.op = &OpRegistry::global().get("Const");
  node.outputs = {{value.dtype(), value.shape(), false}};
  node.attrs = ConstAttrs{value};
  node.values = {std::move(value)};
  node.origin = key.first;
  add_value(key, std::move(node));
}

int LevelBuilder::add_variable(TapeValue key, const PlanNode& variable) {
  const auto same = variables_.find(variable.origin);
  if (same != variables_.end()) {
    given_[key] = {{same->second, 0}, {}};
    return same->second;
  }
  PlanNode node = variable;
  node.guards.clear();
  variables_[variable.origin] = add_value(key, std::move(node));
  return variables_[variable.origin];
}

PlanGraph LevelBuilder::build(const std::vector<Tensor>& fetches,
                              const std::vector<const Node*>& targets,
                              std::span<const Fetch> places) {
  for (const Tensor& fetch : fetches) need(fetch);
  for (const Node* target : targets) need(*target);
  collect();
  for (const std::pair<const Node*, const LoopFrame*>& unit : ordered_units()) {
    if (unit.second != nullptr)
      add_loop(loops_.at(unit.second));
    else
      add_node(*unit.first);
  }
  std::size_t next = 0;
  if (places.empty()) {
    for (const Tensor& fetch : fetches) graph_.fetches.push_back(fetched(fetch));
  }
  for (const Fetch& place : places) {
    if (place.tensor()) {
      graph_.fetches.push_back(fetched(fetches[next++]));
    } else {
      graph_.fetches.push_back({-1, 0});
      graph_.targets.push_back(control_of(place.operation().node()).first);
    }
  }
  if (places.empty()) {
    for (const Node* target : targets) {
      const int at = control_of(*target).first;
      if (at >= 0) graph_.targets.push_back(at);
    }
  }
  return std::move(graph_);
}

int LevelBuilder::add_value(TapeValue key, PlanNode node) {
  given_[key] = {{static_cast<int>(graph_.nodes.size()), 0}, {}};
  graph_.nodes.push_back(std::move(node));
  return static_cast<int>(graph_.nodes.size()) - 1;
}

void LevelBuilder::need(const Node& node) {
  if (is_loop_exit(node)) {
    const LoopFrame* const loop = frames_.left_by(node);
    LoopUnit& unit = loops_[loop];
    unit.frame = loop;
    if (std::find(unit.exits.begin(), unit.exits.end(), &node) != unit.exits.end()) return;
    unit.exits.push_back(&node);
    exits_.insert(&node);
    pending_exits_.push_back(&node);
    return;
  }
  if (nodes_.insert(&node).second) pending_.push_back(&node);
}

void LevelBuilder::collect() {
  while (!pending_.empty() || !pending_exits_.empty()) {
    if (!pending_exits_.empty()) {
      const Node* exit = pending_exits_.back();
      pending_exits_.pop_back();
      walk_loop(loops_.at(frames_.left_by(*exit)), *exit);
      continue;
    }
    const Node* node = pending_.back();
    pending_.pop_back();
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      if (i == 1 && is_own_switch(*node)) continue;  // the condition of the loop
      need(node->inputs[i]);
    }
    for (const Node* control : node->control_inputs) {
      if (!is_fed_source(*control, fed_)) need_control(*control);
    }
  }
}

void LevelBuilder::walk_loop(LoopUnit& unit, const Node& exit) {
  std::vector<const Node*> stack;
  const auto visit = [&](const Node& node) {
    if (unit.inside.insert(&node).second) stack.push_back(&node);
  };
  visit(exit.inputs[0].node());
  for (const Node* control : exit.control_inputs) visit(*control);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (is_loop_enter(*node) && frames_.of(*node) == unit.frame) {
      unit.enters.push_back(node);
      need(node->inputs[0]);
      for (const Node* control : node->control_inputs) need_control(*control);
      continue;
    }
    for (const Tensor& input : node->inputs) visit(input.node());
    for (const Node* control : node->control_inputs) visit(*control);
  }
}

std::vector<std::pair<const Node*, const LoopFrame*>> LevelBuilder::ordered_units() {
  using Unit = std::pair<const Node*, const LoopFrame*>;
  std::vector<Unit> units;
  if (loops_.empty() && frame_ == frames_.root()) {
    for (const Node* node : nodes_) units.emplace_back(node, nullptr);
    std::sort(units.begin(), units.end(),
              [](const Unit& a, const Unit& b) { return a.first->id < b.first->id; });
    return units;
  }
  std::vector<std::pair<int, Unit>> all;  // with the place on the tape
  for (const Node* node : nodes_) all.push_back({node->id, {node, nullptr}});
  for (auto& [frame, unit] : loops_) {
    int first = unit.exits.front()->id;
    for (const Node* exit : unit.exits) first = std::min(first, exit->id);
    all.push_back({first, {nullptr, frame}});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::unordered_map<const Node*, std::size_t> unit_of;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [node, frame] = all[i].second;
    if (node != nullptr) unit_of[node] = i;
    if (frame == nullptr) continue;
    for (const Node* exit : loops_.at(frame).exits) unit_of[exit] = i;
  }
  std::vector<std::vector<std::size_t>> readers(all.size());
  std::vector<std::size_t> missing(all.size(), 0);
  const auto depends = [&](std::size_t unit, const Node& on) {
    const auto found = unit_of.find(&on);
    if (found == unit_of.end() || found->second == unit) return;
    readers[found->second].push_back(unit);
    ++missing[unit];
  };
  const auto depends_on_inputs = [&](std::size_t unit, const Node& node) {
    for (const Tensor& input : node.inputs) {
      if (!given_.contains(tape_value(input))) depends(unit, input.node());
    }
    for (const Node* control : node.control_inputs) depends(unit, *control);
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [node, frame] = all[i].second;
    if (node != nullptr) {
      depends_on_inputs(i, *node);
    } else {
      for (const Node* enter : loops_.at(frame).enters) depends_on_inputs(i, *enter);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::size_t at = ready.top();
    ready.pop();
    units.push_back(all[at].second);
    for (const std::size_t reader : readers[at]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (units.size() == all.size()) return units;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (missing[i] == 0) continue;
    const auto& [node, frame] = all[i].second;
    const Node& named = node != nullptr ? *node : *loops_.at(frame).exits.front();
    throw errors::InvalidArgumentError(
        fmt::format("the graph has a cycle through '{}' that is not a loop", named.name),
        {.site = named.site, .node = named.name, .op = named.op->name});
  }
  return units;
}

const LevelBuilder::Traced& LevelBuilder::traced(const Tensor& tensor) const {
  const auto fed = given_.find(tape_value(tensor));
  if (fed != given_.end()) return fed->second;
  const auto found = values_.find(tape_value(tensor));
  if (found == values_.end()) throw_unsupported(tensor.node(), "a tensor of another loop is read");
  return found->second;
}

std::pair<int, Guards> LevelBuilder::control_of(const Node& node) const {
  const auto found = controls_.find(&node);
  if (found != controls_.end()) return {found->second.value.node, found->second.guards};
  const auto fed = given_.find({&node, 0});
  return fed == given_.end() ? std::pair(-1, Guards())
                             : std::pair(fed->second.value.node, Guards());
}

void LevelBuilder::set_outputs(const Node& node, int made, const Guards& guards) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    values_[{&node, static_cast<int>(i)}] = {{made, static_cast<int>(i)}, guards};
  }
  controls_[&node] = {{made, 0}, guards};
}

int LevelBuilder::pred_node(const Tensor& pred, std::vector<int> awaited, const Node& origin) {
  Traced from = traced(pred);
  // A cond switches by `pred` and by an Identity of it: both are one condition, which waits for
  // what either waits for.
  for (const PlanNode* at = &graph_.node(from.value);
       at->op->name == "Identity" && !graph_.spec(at->inputs[0]).is_ref;
       at = &graph_.node(from.value)) {
    awaited.insert(awaited.end(), at->control.begin(), at->control.end());
    from.value = at->inputs[0];
  }
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  const auto [place, is_new] = preds_.emplace(std::tuple(from.value, from.guards, awaited),
                                              static_cast<int>(graph_.nodes.size()));
  if (!is_new) return place->second;
  static const OpDef& op = OpRegistry::global().get("_Pred");
  PlanNode made;
  made.op = &op;
  made.attrs = op.attrs.defaults();
  made.inputs = {from.value};
  // If it does not hold for the shapes fed, the branch that it is in may not be taken.
  made.outputs = {{DType::bool_, Shape(), false}};
  made.control = std::move(awaited);
  made.guards = from.guards;
  made.origin = &origin;
  infer_plan_node(graph_, made);
  graph_.nodes.push_back(std::move(made));
  return place->second;
}

bool LevelBuilder::is_own_switch(const Node& node) const {
  return frame_ != frames_.root() && is_loop_switch(node) && frames_.of(node) == frame_;
}

void LevelBuilder::add_node(const Node& node) {
  if (is_switch(node)) return add_switch(node);
  if (is_merge(node) && !is_loop_merge(node)) return add_merge(node);
  const std::string& op = node.op->name;
  // A fetched Enter is the value that enters the loop.
  const bool enters = is_loop_enter(node) && frame_ == frames_.root();
  if (op == "LoopCond" || is_next_iteration(node) || enters) {
    const Traced value = traced(node.inputs[0]);
    values_[{&node, 0}] = value;
    controls_[&node] = value;
    return;
  }
  if (is_flow(node)) throw_unsupported(node, "a loop is not closed: it needs an Exit");
  PlanNode made = plan_node(node);
  if (op == "ControlTrigger") made.guards.clear();  // it runs whatever has not run
  read_before_write(made);
  const Guards guards = made.guards;
  const int at = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back(std::move(made));
  set_outputs(node, at, guards);
}

/// All readers of a variable share one read. If the writer used that too, it would be one copy from
/// before the write, also for those who read later.
void LevelBuilder::read_before_write(PlanNode& writer) {
  for (const int written : writer.op->written) {
    const int variable = graph_.root_variable(writer.inputs[static_cast<std::size_t>(written)]);
    for (std::size_t i = 0; i < writer.inputs.size() && variable >= 0; ++i) {
      const ValueId input = writer.inputs[i];
      const PlanNode& producer = graph_.node(input);
      const bool is_target = std::find(writer.op->written.begin(), writer.op->written.end(),
                                       static_cast<int>(i)) != writer.op->written.end();
      if (is_target || graph_.root_variable(input) != variable) continue;
      if (!producer.own_read && !graph_.spec(input).is_ref) continue;
      PlanNode read;
      read.op = &OpRegistry::global().get("Identity");
      read.attrs = read.op->attrs.defaults();
      read.inputs = {producer.own_read ? producer.inputs[0] : input};
      read.outputs = {graph_.spec(input)};
      read.outputs[0].is_ref = false;
      read.guards = writer.guards;
      read.depends_on_feed = producer.depends_on_feed;
      read.origin = producer.own_read ? producer.origin : writer.origin;
      infer_plan_node(graph_, read);
      writer.inputs[i] = {static_cast<int>(graph_.nodes.size()), 0};
      graph_.nodes.push_back(std::move(read));
    }
  }
}

PlanNode LevelBuilder::plan_node(const Node& node) {
  PlanNode made;
  made.op = node.op;
  made.attrs = node.attrs;
  {
    const std::lock_guard lock(node.graph->mutex());  // set_shape may write them
    made.outputs = node.outputs;
  }
  made.origin = &node;
  for (const Tensor& input : node.inputs) {
    const Traced& from = traced(input);
    made.inputs.push_back(from.value);
    made.guards = united(made.guards, from.guards);
  }
  add_control(node, made);
  made.own_read = is_own_read(node);
  made.depends_on_feed = std::any_of(made.inputs.begin(), made.inputs.end(), [&](ValueId input) {
    return graph_.node(input).depends_on_feed;
  });
  if (made.depends_on_feed) {
    for (OutputSpec& output : made.outputs) output.shape = Shape::unknown();
  }
  infer_plan_node(graph_, made);
  if (node.op->name == "PlaceholderWithDefault") {
    // Nothing is fed: it is its default, whose shape may say more than the one that was promised.
    OutputSpec& output = made.outputs[0];
    output.shape = output.shape.merged(graph_.spec(made.inputs[0]).shape).value_or(output.shape);
  }
  return made;
}

void LevelBuilder::add_control(const Node& node, PlanNode& made) const {
  for (const Node* control : node.control_inputs) {
    if (is_fed_source(*control, fed_)) continue;
    const auto [awaited, guards] = control_of(*control);
    if (awaited >= 0) made.control.push_back(awaited);
    made.guards = united(made.guards, guards);
  }
}

void LevelBuilder::add_switch(const Node& node) {
  const Traced data = traced(node.inputs[0]);
  if (is_own_switch(node)) {
    for (int output : {0, 1}) values_[{&node, output}] = data;
    controls_[&node] = data;
    return;
  }
  PlanNode waits;
  add_control(node, waits);
  const int pred = pred_node(node.inputs[1], waits.control, node);
  Guards guards = united(data.guards, graph_.nodes[static_cast<std::size_t>(pred)].guards);
  guards = united(guards, waits.guards);
  for (const bool branch : {false, true}) {
    values_[{&node, branch ? 1 : 0}] = {data.value, united(guards, {{pred, branch}})};
  }
  controls_[&node] = {data.value, guards};
}

void LevelBuilder::add_merge(const Node& node) {
  PlanNode made;
  made.op = &OpRegistry::global().get("Merge");
  made.attrs = made.op->attrs.defaults();
  {
    const std::lock_guard lock(node.graph->mutex());
    made.outputs = node.outputs;
  }
  made.origin = &node;
  std::vector<Guards> open;  // when one of the inputs so far exists
  for (const Tensor& input : node.inputs) {
    const Traced& from = traced(input);
    made.inputs.push_back(from.value);
    made.choices.push_back(from.guards);
    Guards guards = from.guards;
    bool joined = true;
    while (joined) {
      joined = false;
      for (std::size_t i = 0; i < open.size() && !joined; ++i) {
        const std::optional<Guards> both = either(open[i], guards);
        if (!both) continue;
        guards = *both;
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        joined = true;
      }
    }
    open.push_back(guards);
  }
  made.guards = open.size() == 1 ? open[0] : any_of(open, node);
  add_control(node, made);
  infer_plan_node(graph_, made);
  const Guards guards = made.guards;
  graph_.nodes.push_back(std::move(made));
  set_outputs(node, static_cast<int>(graph_.nodes.size()) - 1, guards);
}

Guards LevelBuilder::any_of(const std::vector<Guards>& open, const Node& origin) {
  static const OpDef& op = OpRegistry::global().get("_AnyOf");
  PlanNode made;
  AnyOfAttrs attrs;
  std::map<int, std::int64_t> inputs;  // pred -> input
  Guards common = open[0];
  for (const Guards& guards : open) {
    Guards both;
    std::set_intersection(common.begin(), common.end(), guards.begin(), guards.end(),
                          std::back_inserter(both));
    common = std::move(both);
    for (const Guard guard : guards) {
      const auto next = static_cast<std::int64_t>(made.inputs.size());
      const auto [at, added] = inputs.emplace(guard.pred, next);
      if (added) made.inputs.push_back({guard.pred, 0});
      attrs.terms.push_back(2 * at->second + (guard.branch ? 1 : 0));
    }
    attrs.terms.push_back(-1);
  }
  made.op = &op;
  made.attrs = std::move(attrs);
  made.guards = common;
  made.origin = &origin;
  infer_plan_node(graph_, made);
  graph_.nodes.push_back(std::move(made));
  common.push_back({static_cast<int>(graph_.nodes.size()) - 1, true});
  return common;
}

ValueId LevelBuilder::fetched(const Tensor& fetch) {
  const Traced from = traced(fetch);
  if (from.guards.empty()) return from.value;
  static const OpDef& identity = OpRegistry::global().get("Identity");
  PlanNode made;
  made.op = &identity;
  made.attrs = identity.attrs.defaults();
  made.inputs = {from.value};
  made.guards = from.guards;
  made.must_run = true;
  made.origin = &fetch.node();
  infer_plan_node(graph_, made);
  graph_.nodes.push_back(std::move(made));
  return {static_cast<int>(graph_.nodes.size()) - 1, 0};
}

}  // namespace towerflow
