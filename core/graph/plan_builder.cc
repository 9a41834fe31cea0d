// Pass 1: from the tape to the graph of a plan. Switch and Merge become conditions of nodes, loops
// become nodes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/graph/constant.h"
#include "core/graph/control_flow.h"
#include "core/graph/control_flow_attrs.h"
#include "core/graph/graph.h"
#include "core/graph/graph_mutex.h"
#include "core/graph/plan_loop.h"

namespace towerflow {
namespace {

/// The op of nodes that stand for fed tensors; never run.
const OpDef& feed_op() {
  static const OpDef def{.name = "_Feed", .shape = {}, .gradient = NoGradient{"a fed value"}};
  return def;
}

using TensorKey = std::pair<const Node*, int>;
TensorKey key_of(const Tensor& tensor) { return {&tensor.node(), tensor.index()}; }

using FedTensors = std::map<TensorKey, int>;

/// Returns whether a node is a source, such as a placeholder, all of whose outputs are fed. It must
/// not run, so control inputs on it are dropped.
bool is_fed_source(const Node& node, const FedTensors& fed) {
  const bool source = node.op->effect == Effect::pure || node.op->effect == Effect::io;
  if (!source || !node.inputs.empty() || node.outputs.empty()) return false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!fed.contains({&node, static_cast<int>(i)})) return false;
  }
  return true;
}

/// Returns whether the node is the read that a variable is created with. Other reads of the
/// variable, such as `read_value`, have the value at their own place in the order.
bool is_own_read(const Node& node) {
  if (node.inputs.size() != 1 || !node.control_inputs.empty()) return false;
  const Node& variable = node.inputs[0].node();
  return variable.op->effect == Effect::variable && node.name == variable.name + "/read";
}

bool is_flow(const Node& node) {
  return is_switch(node) || is_merge(node) || is_loop_enter(node) || is_loop_exit(node) ||
         is_next_iteration(node);
}

/// Returns whether a node is the Merge of a loop variable.
bool is_loop_merge(const Node& node) {
  return is_merge(node) && node.inputs.size() == 2 && is_next_iteration(node.inputs[1].node());
}

[[noreturn]] void throw_unsupported(const Node& node, const std::string& what) {
  throw errors::UnimplementedError(what,
                                   {.site = node.site, .node = node.name, .op = node.op->name});
}

/// A loop, inside which nodes run repeatedly; the root is the frame of all other nodes.
struct Frame {
  const Frame* parent = nullptr;
  std::string name;
};

/// The frames of the nodes that a run needs. A node is in the frame of its inputs, an Enter in one
/// inside it; an Exit is in the frame that it leads to.
class Frames {
 public:
  explicit Frames(const std::vector<const Node*>& nodes) : nodes_(nodes.begin(), nodes.end()) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Node* node : nodes) {
        if (!frames_.contains(node)) changed = find(*node) || changed;
      }
    }
  }
  const Frame* root() const { return &root_; }
  const Frame* of(const Node& node) const {
    const auto found = frames_.find(&node);
    return found == frames_.end() ? &root_ : found->second;
  }
  /// Returns the loop that an Exit leaves.
  const Frame* left_by(const Node& exit) const { return of(exit.inputs[0].node()); }
  /// Returns whether a frame is `outer` or inside it.
  static bool is_inside(const Frame* frame, const Frame* outer) {
    for (; frame != nullptr; frame = frame->parent) {
      if (frame == outer) return true;
    }
    return false;
  }

 private:
  bool find(const Node& node) {
    const Frame* before = nullptr;
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
    const Frame* frame = before;
    if (is_loop_enter(node)) {
      auto& made = children_[{before, node.attrs.as<EnterAttrs>().frame_name}];
      if (made == nullptr) {
        made = std::make_unique<Frame>(Frame{before, node.attrs.as<EnterAttrs>().frame_name});
      }
      frame = made.get();
    } else if (is_loop_exit(node)) {
      if (before->parent == nullptr) throw_unsupported(node, "an Exit outside of a loop");
      frame = before->parent;
    }
    frames_[&node] = frame;
    return true;
  }

  std::unordered_set<const Node*> nodes_;
  Frame root_;
  std::unordered_map<const Node*, const Frame*> frames_;
  std::map<std::pair<const Frame*, std::string>, std::unique_ptr<Frame>> children_;
};

/// Returns the nodes needed for the fetches, in tape order; the walk stops at fed tensors.
std::vector<const Node*> needed_nodes(std::span<const Fetch> fetches, const FedTensors& fed) {
  std::vector<const Node*> stack, found;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) stack.push_back(node);
  };
  const auto visit_tensor = [&](const Tensor& tensor) {
    if (!fed.contains(key_of(tensor))) visit(&tensor.node());
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

/// Returns the conditions of both lists.
Guards united(const Guards& a, const Guards& b) {
  if (b.empty() || a == b) return a;
  Guards both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

/// Returns when one of two conditions holds, if that is a conjunction again: they are equal, one
/// contains the other, or they differ in the branch of one condition.
std::optional<Guards> either(const Guards& a, const Guards& b) {
  Guards common, only_a, only_b;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b));
  if (only_a.empty() || only_b.empty()) return common;
  const bool opposite = only_a.size() == 1 && only_b.size() == 1 &&
                        only_a[0].pred == only_b[0].pred;
  return opposite ? std::optional(common) : std::nullopt;
}

/// A loop as a unit of the level around it.
struct LoopUnit {
  const Frame* frame = nullptr;
  std::vector<const Node*> exits;
  std::unordered_set<const Node*> inside;  ///< its nodes, also those of loops in it
  std::vector<const Node*> enters;
};

/// Builds the graph of one level: of the run itself, or of the condition or body of a loop.
class LevelBuilder {
 public:
  LevelBuilder(const Frames& frames, const Frame* frame, const FedTensors& fed)
      : frames_(frames), frame_(frame), fed_(fed) {}

  /// Adds a value that the caller of the plan supplies.
  void add_feed(TensorKey key, int feed, const OutputSpec& spec, bool depends_on_feed) {
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
  /// Adds a value from outside of a loop that is known already.
  void add_constant(TensorKey key, Array value) {
    PlanNode node;
    node.op = &OpRegistry::global().get("Const");
    node.outputs = {{value.dtype(), value.shape(), false}};
    node.attrs = ConstAttrs{value};
    node.values = {std::move(value)};
    node.origin = key.first;
    add_value(key, std::move(node));
  }
  /// Adds a copy of a node of the level around, a variable to which a tensor of this one refers.
  int add_variable(TensorKey key, const PlanNode& variable) {
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

  PlanGraph build(const std::vector<Tensor>& fetches, const std::vector<const Node*>& targets,
                  std::span<const Fetch> places) {
    for (const Tensor& fetch : fetches) need(fetch);
    for (const Node* target : targets) need(*target);
    collect();
    for (const std::pair<const Node*, const Frame*>& unit : ordered_units()) {
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

  std::size_t tape_nodes() const { return nodes_.size(); }

 private:
  struct Traced {
    ValueId value;
    Guards guards;
  };

  int add_value(TensorKey key, PlanNode node) {
    given_[key] = {{static_cast<int>(graph_.nodes.size()), 0}, {}};
    graph_.nodes.push_back(std::move(node));
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  // --- the nodes of the level -------------------------------------------------------------------

  void need(const Tensor& tensor) {
    if (!given_.contains(key_of(tensor))) need(tensor.node());
  }

  void need(const Node& node) {
    if (is_loop_exit(node)) {
      const Frame* const loop = frames_.left_by(node);
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

  void collect() {
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

  /// A fed Merge or Enter stands for its node.
  void need_control(const Node& node) {
    if (!given_.contains({&node, 0})) need(node);
  }

  /// Adds the nodes of a loop that an exit needs; what they read from outside is needed here.
  void walk_loop(LoopUnit& unit, const Node& exit) {
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

  /// Returns nodes and loops, each after all that it reads or awaits, otherwise in tape order.
  std::vector<std::pair<const Node*, const Frame*>> ordered_units() {
    using Unit = std::pair<const Node*, const Frame*>;
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
        if (!given_.contains(key_of(input))) depends(unit, input.node());
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

  // --- values -----------------------------------------------------------------------------------

  const Traced& traced(const Tensor& tensor) const {
    const auto fed = given_.find(key_of(tensor));
    if (fed != given_.end()) return fed->second;
    const auto found = values_.find(key_of(tensor));
    if (found == values_.end()) throw_unsupported(tensor.node(), "a tensor of another loop is read");
    return found->second;
  }

  /// Returns the node of the plan that runs when `node` has run, -1 for none, and its conditions.
  std::pair<int, Guards> control_of(const Node& node) const {
    const auto found = controls_.find(&node);
    if (found != controls_.end()) return {found->second.value.node, found->second.guards};
    const auto fed = given_.find({&node, 0});
    return fed == given_.end() ? std::pair(-1, Guards()) : std::pair(fed->second.value.node, Guards());
  }

  void set_outputs(const Node& node, int made, const Guards& guards) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      values_[{&node, static_cast<int>(i)}] = {{made, static_cast<int>(i)}, guards};
    }
    controls_[&node] = {{made, 0}, guards};
  }

  /// Returns the node that gives a condition to the host.
  int pred_node(const Tensor& pred, const Node& origin) {
    Traced from = traced(pred);
    // A cond switches by `pred` and by an Identity of it: both are one condition.
    for (const PlanNode* at = &graph_.node(from.value);
         at->op->name == "Identity" && !graph_.spec(at->inputs[0]).is_ref;
         at = &graph_.node(from.value)) {
      from.value = at->inputs[0];
    }
    const auto found = preds_.find({from.value, from.guards});
    if (found != preds_.end()) return found->second;
    static const OpDef& op = OpRegistry::global().get("_Pred");
    PlanNode made;
    made.op = &op;
    made.attrs = op.attrs.defaults();
    made.inputs = {from.value};
    made.guards = from.guards;
    made.origin = &origin;
    infer_plan_node(graph_, made);
    graph_.nodes.push_back(std::move(made));
    return preds_[{from.value, from.guards}] = static_cast<int>(graph_.nodes.size()) - 1;
  }

  bool is_own_switch(const Node& node) const {
    return frame_ != frames_.root() && is_loop_switch(node) && frames_.of(node) == frame_;
  }

  // --- nodes ------------------------------------------------------------------------------------

  void add_node(const Node& node) {
    if (is_switch(node)) return add_switch(node);
    if (is_merge(node) && !is_loop_merge(node)) return add_merge(node);
    const std::string& op = node.op->name;
    if (op == "LoopCond" || is_next_iteration(node)) {
      const Traced value = traced(node.inputs[0]);
      values_[{&node, 0}] = value;
      controls_[&node] = value;
      return;
    }
    if (is_flow(node)) throw_unsupported(node, "a loop is not closed: it needs an Exit");
    PlanNode made = plan_node(node);
    if (op == "ControlTrigger") made.guards.clear();  // it runs whatever has not run
    const Guards guards = made.guards;
    const int at = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(made));
    set_outputs(node, at, guards);
  }

  PlanNode plan_node(const Node& node) {
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
    return made;
  }

  void add_control(const Node& node, PlanNode& made) const {
    for (const Node* control : node.control_inputs) {
      if (is_fed_source(*control, fed_)) continue;
      const auto [awaited, guards] = control_of(*control);
      if (awaited >= 0) made.control.push_back(awaited);
      made.guards = united(made.guards, guards);
    }
  }

  /// A Switch is no node: its outputs are its input, under a condition.
  void add_switch(const Node& node) {
    const Traced data = traced(node.inputs[0]);
    if (is_own_switch(node)) {
      for (int output : {0, 1}) values_[{&node, output}] = data;
      controls_[&node] = data;
      return;
    }
    const int pred = pred_node(node.inputs[1], node);
    PlanNode waits;
    add_control(node, waits);
    Guards guards = united(data.guards, graph_.nodes[static_cast<std::size_t>(pred)].guards);
    guards = united(guards, waits.guards);
    for (const bool branch : {false, true}) {
      values_[{&node, branch ? 1 : 0}] = {data.value, united(guards, {{pred, branch}})};
    }
    controls_[&node] = {data.value, guards};
  }

  void add_merge(const Node& node) {
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

  /// Returns the condition that one of several holds, as a value that the plan computes.
  Guards any_of(const std::vector<Guards>& open, const Node& origin) {
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

  /// Returns the value of a fetch. One that may not exist is checked when it is fetched.
  ValueId fetched(const Tensor& fetch) {
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

  // --- loops ------------------------------------------------------------------------------------

  void add_loop(const LoopUnit& unit);

  const Frames& frames_;
  const Frame* frame_;
  const FedTensors& fed_;
  PlanGraph graph_;
  std::map<TensorKey, Traced> given_;                        // fed, constant, or a variable
  std::unordered_map<const Node*, int> variables_;           // copies of variables
  std::unordered_set<const Node*> nodes_, exits_;
  std::vector<const Node*> pending_, pending_exits_;
  std::map<const Frame*, LoopUnit> loops_;
  std::map<TensorKey, Traced> values_;
  std::unordered_map<const Node*, Traced> controls_;
  std::map<std::pair<ValueId, Guards>, int> preds_;
};

/// Collects what a loop is made of, before its graphs are built.
struct LoopParts {
  std::vector<const Node*> merges;      ///< of loop variables, in tape order
  std::vector<const Node*> invariants;  ///< Enter nodes, in tape order
  const Node* condition = nullptr;      ///< the LoopCond
};

LoopParts parts_of(const LoopUnit& unit, const Frames& frames) {
  LoopParts parts;
  std::unordered_set<const Node*> initial;
  for (const Node* node : unit.inside) {
    if (frames.of(*node) != unit.frame) continue;
    if (is_loop_merge(*node)) {
      parts.merges.push_back(node);
      initial.insert(&node->inputs[0].node());
    }
    if (node->op->name == "LoopCond") parts.condition = node;
  }
  for (const Node* enter : unit.enters) {
    if (!initial.contains(enter)) parts.invariants.push_back(enter);
  }
  const auto by_id = [](const Node* a, const Node* b) { return a->id < b->id; };
  std::sort(parts.merges.begin(), parts.merges.end(), by_id);
  std::sort(parts.invariants.begin(), parts.invariants.end(), by_id);
  const Node& exit = *unit.exits.front();
  if (parts.condition == nullptr) throw_unsupported(exit, "a loop without a LoopCond");
  for (const Node* merge : parts.merges) {
    if (!is_loop_enter(merge->inputs[0].node())) {
      throw_unsupported(*merge, "the first input of a loop's Merge must be an Enter");
    }
  }
  return parts;
}

Effect stronger(Effect a, Effect b) {
  const auto rank = [](Effect effect) {
    switch (effect) {
      case Effect::pure:
      case Effect::variable:
        return 0;
      case Effect::random:
        return 1;
      case Effect::io:
        return 2;
      case Effect::stateful:
        return 3;
      case Effect::writes_variable:
        return 4;
    }
    return 0;
  };
  return rank(a) >= rank(b) ? a : b;
}

/// Returns the effect of a loop, and notes which of its variables it writes.
Effect effect_of(const PlanGraph& graph, std::set<const Node*>& written, bool& does_io) {
  Effect effect = Effect::pure;
  for (const PlanNode& node : graph.nodes) {
    if (node.dead || node.feed >= 0 || node.op->effect == Effect::variable) continue;
    effect = stronger(effect, node.op->effect);
    does_io = does_io || node.op->effect == Effect::io || (node.loop && node.loop->does_io);
    for (const int input : node.op->written) {
      const int variable = graph.root_variable(node.inputs[static_cast<std::size_t>(input)]);
      if (variable >= 0) written.insert(graph.nodes[static_cast<std::size_t>(variable)].origin);
    }
  }
  return effect;
}

void LevelBuilder::add_loop(const LoopUnit& unit) {
  const LoopParts parts = parts_of(unit, frames_);
  const auto loop = std::make_shared<PlanLoop>();
  loop->name = unit.frame->name;
  loop->states = parts.merges.size();
  PlanNode made;
  made.origin = parts.condition;
  LevelBuilder condition(frames_, unit.frame, fed_), body(frames_, unit.frame, fed_);
  const auto add_feed = [&](TensorKey inside, const Tensor& outside, OutputSpec spec) {
    const Traced& from = traced(outside);
    made.inputs.push_back(from.value);
    made.guards = united(made.guards, from.guards);
    const auto feed = static_cast<int>(loop->feeds.size());
    const bool depends = graph_.node(from.value).depends_on_feed;
    if (depends) spec.shape = Shape::unknown();
    condition.add_feed(inside, feed, spec, depends);
    body.add_feed(inside, feed, spec, depends);
    loop->feeds.push_back(std::move(spec));
  };
  for (const Node* merge : parts.merges) {
    OutputSpec spec;
    {
      const std::lock_guard lock(merge->graph->mutex());
      spec = merge->outputs[0];
    }
    const Node& enter = merge->inputs[0].node();
    add_feed({merge, 0}, enter.inputs[0], spec);
    add_control(enter, made);
  }
  std::vector<std::pair<TensorKey, ValueId>> variables;
  for (const Node* enter : parts.invariants) {
    add_control(*enter, made);
    const TensorKey inside(enter, 0);
    const Traced& from = traced(enter->inputs[0]);
    made.guards = united(made.guards, from.guards);
    const PlanNode& producer = graph_.node(from.value);
    const auto output = static_cast<std::size_t>(from.value.output);
    if (producer.is_known(output)) {
      condition.add_constant(inside, producer.values[output]);
      body.add_constant(inside, producer.values[output]);
    } else if (graph_.spec(from.value).is_ref && graph_.root_variable(from.value) >= 0) {
      variables.emplace_back(inside, from.value);
    } else {
      add_feed(inside, enter->inputs[0], graph_.spec(from.value));
    }
  }
  for (const auto& [inside, value] : variables) {
    const PlanNode& variable = graph_.nodes[static_cast<std::size_t>(graph_.root_variable(value))];
    condition.add_variable(inside, variable);
    body.add_variable(inside, variable);
    made.inputs.push_back(value);
  }
  // What leaves the loop: a loop variable, or a value that its condition part computes.
  std::vector<Tensor> tested{parts.condition->inputs[0]};
  for (const Node* exit : unit.exits) {
    const Node& switched = exit->inputs[0].node();
    if (!is_loop_switch(switched)) throw_unsupported(*exit, "an Exit must read a Switch of the loop");
    const Tensor& leaving = switched.inputs[0];
    const auto variable = std::find(parts.merges.begin(), parts.merges.end(), &leaving.node());
    if (variable != parts.merges.end() && leaving.index() == 0) {
      loop->exits.push_back(static_cast<std::size_t>(variable - parts.merges.begin()));
    } else {
      loop->exits.push_back(loop->states + tested.size());
      tested.push_back(leaving);
    }
  }
  loop->condition = condition.build(tested, {}, {});
  std::vector<Tensor> next;
  std::vector<const Node*> targets;
  for (const Node* merge : parts.merges) {
    const Node& iteration = merge->inputs[1].node();
    next.push_back(iteration.inputs[0]);
    targets.insert(targets.end(), iteration.control_inputs.begin(), iteration.control_inputs.end());
  }
  loop->body = body.build(next, targets, {});
  std::vector<ValueId> computed;
  for (const ValueId value : loop->body.fetches) {
    const int feed = loop->body.node(value).feed;
    loop->next.push_back(feed >= 0 ? -1 - feed : static_cast<int>(computed.size()));
    if (feed < 0) computed.push_back(value);
  }
  loop->body.fetches = std::move(computed);

  std::set<const Node*> written;
  loop->op.effect = stronger(effect_of(loop->condition, written, loop->does_io),
                             effect_of(loop->body, written, loop->does_io));
  loop->op.name = "_While";
  loop->op.on_host = true;
  loop->op.gradient = NoGradient{"it exists in plans only"};
  for (std::size_t i = loop->feeds.size(); i < made.inputs.size(); ++i) {
    const int variable = graph_.root_variable(made.inputs[i]);
    const Node* origin = graph_.nodes[static_cast<std::size_t>(variable)].origin;
    if (written.contains(origin)) loop->op.written.push_back(static_cast<int>(i));
    loop->op.maybe_uninitialized.push_back(static_cast<int>(i));
    loop->op.name_only_inputs.push_back(static_cast<int>(i));
  }
  std::vector<OutputSpec> exits;
  for (const Node* exit : unit.exits) {
    const std::lock_guard lock(exit->graph->mutex());
    exits.push_back({exit->outputs[0].dtype, exit->outputs[0].shape, false});
  }
  loop->op.shape = [raw = loop.get(), exits](InferenceContext& context) {
    const bool open = std::any_of(exits.begin(), exits.end(),
                                  [](const OutputSpec& exit) { return !exit.shape.fully_known(); });
    std::vector<Shape> shapes;
    if (open) {
      for (std::size_t i = 0; i < raw->feeds.size(); ++i) shapes.push_back(context.shape(i));
      shapes = loop_shapes(*raw, std::move(shapes));
    }
    for (std::size_t i = 0; i < exits.size(); ++i) {
      Shape shape = exits[i].shape;
      if (open && raw->exits[i] < raw->states) {
        if (const auto merged = shape.merged(shapes[raw->exits[i]])) shape = *merged;
      }
      context.add_output(exits[i].dtype, std::move(shape));
    }
  };
  made.op = &loop->op;
  made.loop = loop;
  infer_plan_node(graph_, made);
  const Guards guards = made.guards;
  const int at = static_cast<int>(graph_.nodes.size());
  graph_.nodes.push_back(std::move(made));
  for (std::size_t i = 0; i < unit.exits.size(); ++i) {
    values_[{unit.exits[i], 0}] = {{at, static_cast<int>(i)}, guards};
    controls_[unit.exits[i]] = {{at, 0}, guards};
  }
}

}  // namespace

PlanGraph build_plan_graph(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                           PassLog& log) {
  FedTensors fed;
  for (std::size_t i = 0; i < feeds.size(); ++i) fed[key_of(feeds[i].tensor)] = static_cast<int>(i);
  const std::vector<const Node*> tape = needed_nodes(fetches, fed);
  const bool flows = std::any_of(tape.begin(), tape.end(), [](const Node* n) { return is_flow(*n); });
  const Frames frames(flows ? tape : std::vector<const Node*>());
  LevelBuilder level(frames, frames.root(), fed);
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const FeedSpec& feed = feeds[i];
    level.add_feed(key_of(feed.tensor), static_cast<int>(i), {feed.dtype, feed.shape, false},
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

PlanGraph specialized(const PlanGraph& graph, std::span<const Shape> feeds) {
  PlanGraph made = graph;
  for (PlanNode& node : made.nodes) {
    if (node.dead) continue;
    if (node.feed >= 0) {
      node.outputs[0].shape = feeds[static_cast<std::size_t>(node.feed)];
      continue;
    }
    if (node.op->effect == Effect::variable || node.inputs.empty()) continue;
    infer_plan_node(made, node);
  }
  return made;
}

std::vector<Shape> loop_shapes(const PlanLoop& loop, std::vector<Shape> first) {
  constexpr int kRounds = 4;  // each makes at least one size unknown; then nothing is promised
  for (int round = 0; round < kRounds; ++round) {
    const PlanGraph body = specialized(loop.body, first);
    bool same = true;
    std::vector<Shape> found = first;
    for (std::size_t i = 0; i < loop.states; ++i) {
      const int from = loop.next[i];
      const Shape next = from < 0 ? first[static_cast<std::size_t>(-1 - from)]
                                  : body.spec(body.fetches[static_cast<std::size_t>(from)]).shape;
      if (next == first[i]) continue;
      same = false;
      if (!next.has_rank() || !first[i].has_rank() || next.rank() != first[i].rank()) {
        found[i] = Shape::unknown();
        continue;
      }
      std::vector<Dim> dims;
      for (std::size_t d = 0; d < next.rank(); ++d) {
        dims.push_back(next[d] == first[i][d] ? next[d] : Dim(None));
      }
      found[i] = Shape(std::move(dims));
    }
    if (same) return first;
    if (found == first) return first;
    first = std::move(found);
  }
  for (std::size_t i = 0; i < loop.states; ++i) first[i] = loop.feeds[i].shape;
  return first;
}

}  // namespace towerflow
