#include "core/graph/plan_loop.h"

#include <algorithm>
#include <set>

#include "core/graph/control_flow.h"
#include "core/graph/graph.h"
#include "core/graph/graph_mutex.h"
#include "core/graph/level_builder.h"

namespace towerflow {
namespace {

/// Collects what a loop is made of, before its graphs are built.
struct LoopParts {
  std::vector<const Node*> merges;      ///< of loop variables, in tape order
  std::vector<const Node*> invariants;  ///< Enter nodes, in tape order
  const Node* condition = nullptr;      ///< the LoopCond
};

LoopParts parts_of(const LoopUnit& unit, const LoopFrames& frames) {
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

/// Returns what an Exit reads, without the identities that gated gradients put in front of it.
const Node& left_node(const Node& exit) {
  const Node* node = &exit.inputs[0].node();
  while (node->op->name == "Identity") node = &node->inputs[0].node();
  return *node;
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

/// Adds what a constant waits for, such as an assertion before it.
void add_awaited(const PlanGraph& graph, ValueId constant, std::vector<int>& control) {
  const PlanNode& node = graph.node(constant);
  if (!node.is_known(static_cast<std::size_t>(constant.output))) return;
  control.insert(control.end(), node.control.begin(), node.control.end());
  for (const ValueId input : node.inputs) add_awaited(graph, input, control);
}

}  // namespace

void LevelBuilder::add_loop(const LoopUnit& unit) {
  const LoopParts parts = parts_of(unit, frames_);
  const auto loop = std::make_shared<PlanLoop>();
  loop->name = unit.frame->name;
  loop->states = parts.merges.size();
  PlanNode made;
  made.origin = parts.condition;
  LevelBuilder condition(frames_, unit.frame, fed_), body(frames_, unit.frame, fed_);
  const auto add_feed = [&](TapeValue inside, const Tensor& outside, OutputSpec spec) {
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
  // A loop that gets a variable by reference may change it, and then sees the change wherever it
  // reads the variable.
  const auto variable_behind = [&](const Node& enter) {
    const ValueId value = traced(enter.inputs[0]).value;
    return graph_.spec(value).is_ref ? graph_.root_variable(value) : -1;
  };
  std::set<int> by_reference;
  for (const Node* enter : parts.invariants) by_reference.insert(variable_behind(*enter));
  std::vector<std::pair<TapeValue, ValueId>> variables;
  for (const Node* enter : parts.invariants) {
    add_control(*enter, made);
    const TapeValue inside(enter, 0);
    const Traced& from = traced(enter->inputs[0]);
    made.guards = united(made.guards, from.guards);
    const PlanNode& producer = graph_.node(from.value);
    const auto output = static_cast<std::size_t>(from.value.output);
    if (producer.is_known(output)) {
      add_awaited(graph_, from.value, made.control);
      condition.add_constant(inside, producer.values[output]);
      body.add_constant(inside, producer.values[output]);
    } else if (variable_behind(*enter) >= 0) {
      variables.emplace_back(inside, from.value);
    } else if (producer.own_read && by_reference.contains(graph_.root_variable(from.value))) {
      variables.emplace_back(inside, ValueId{graph_.root_variable(from.value), 0});
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
    const Node& switched = left_node(*exit);
    if (!is_loop_switch(switched))
      throw_unsupported(*exit, "an Exit must read a Switch of the loop");
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
