#include "core/graph/plan_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/graph/constant.h"
#include "core/graph/graph.h"
#include "core/graph/graph_mutex.h"

namespace towerflow {
namespace {

/// The op of nodes that stand for fed tensors; never run.
const OpDef& feed_op() {
  static const OpDef def{.name = "_Feed", .shape = {}, .gradient = NoGradient{"a fed value"}};
  return def;
}

using FedTensors = std::map<std::pair<const Node*, int>, int>;

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

/// Returns the nodes needed for the fetches, in tape order; the walk stops at fed tensors.
std::vector<const Node*> needed_nodes(std::span<const Fetch> fetches, const FedTensors& fed) {
  std::vector<const Node*> stack, found;
  std::unordered_map<const Node*, bool> seen;
  const auto visit = [&](const Node* node) {
    if (!std::exchange(seen[node], true)) stack.push_back(node);
  };
  const auto visit_tensor = [&](const Tensor& tensor) {
    if (!fed.contains({&tensor.node(), tensor.index()})) visit(&tensor.node());
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

bool PlanGraph::replace(std::vector<Replacement> replacements) {
  std::vector<PlanNode> before;
  bool runs = true;
  for (Replacement& made : replacements) {
    PlanNode& node = nodes[static_cast<std::size_t>(made.node)];
    before.push_back(node);
    node.op = &OpRegistry::global().get(made.op);
    node.attrs = std::move(made.attrs);
    node.inputs = std::move(made.inputs);
    infer_plan_node(*this, node);
    runs = runs && (!has_kernel || has_kernel(node));
  }
  if (!runs) {
    while (!before.empty()) {
      nodes[static_cast<std::size_t>(replacements[before.size() - 1].node)] =
          std::move(before.back());
      before.pop_back();
    }
    return false;
  }
  for (const Replacement& made : replacements) update_index(made.node);
  return true;
}

void PlanGraph::update_index(int node) {
  index->update(*this, node);
  update_input_variable(nodes[static_cast<std::size_t>(node)]);
  // The node may now be a view of a variable, or no longer be one: update the views of it.
  std::vector<int> changed{node};
  while (!changed.empty()) {
    const int at = changed.back();
    changed.pop_back();
    index->for_each_reader(at, [&](int reader) {
      PlanNode& reading = nodes[static_cast<std::size_t>(reader)];
      const int before = reading.input_variable;
      update_input_variable(reading);
      if (reading.input_variable != before) changed.push_back(reader);
    });
  }
}

void PlanGraph::remove(int node) {
  nodes[static_cast<std::size_t>(node)].dead = true;
  if (index) index->update(*this, node);
}

int PlanGraph::root_variable(ValueId value) const {
  const PlanNode& at = node(value);
  if (at.op->effect == Effect::variable) return value.node;
  const bool passes_on = at.op->view || at.replica || spec(value).is_ref;
  return passes_on && !at.is_known(0) ? at.input_variable : -1;
}

void PlanGraph::update_input_variable(PlanNode& node) const {
  node.input_variable = node.inputs.empty() ? -1 : root_variable(node.inputs[0]);
}

void PlanGraph::reorder(const std::vector<int>& order) {
  std::vector<int> place(nodes.size(), -1);
  std::vector<PlanNode> moved;
  moved.reserve(nodes.size());
  for (const int node : order) {
    place[static_cast<std::size_t>(node)] = static_cast<int>(moved.size());
    moved.push_back(std::move(nodes[static_cast<std::size_t>(node)]));
  }
  nodes = std::move(moved);
  const auto renumber = [&](int& node) {
    if (node >= 0) node = place[static_cast<std::size_t>(node)];
  };
  for (PlanNode& node : nodes) {
    for (ValueId& input : node.inputs) renumber(input.node);
    for (int& awaited : node.control) renumber(awaited);
    renumber(node.input_variable);
  }
  for (ValueId& fetch : fetches) renumber(fetch.node);
  for (int& target : targets) renumber(target);
}

void PlanGraph::remove_unneeded() {
  std::vector<bool> needed(nodes.size(), false);
  for (ValueId fetch : fetches) {
    if (fetch.node >= 0) needed[static_cast<std::size_t>(fetch.node)] = true;
  }
  for (int target : targets) needed[static_cast<std::size_t>(target)] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    PlanNode& node = nodes[i];
    if (node.dead || !needed[i]) {
      if (node.feed < 0) remove(static_cast<int>(i));
      continue;
    }
    for (ValueId input : node.inputs) needed[static_cast<std::size_t>(input.node)] = true;
    for (int control : node.control) needed[static_cast<std::size_t>(control)] = true;
  }
}

void PlanGraph::verify(const std::string& pass) const {
  const auto check = [&](bool holds, const char* rule, const PlanNode& node) {
    if (holds) return;
    throw errors::InternalError(fmt::format("plan verifier: after {}: {}", pass, rule),
                                {.node = node.origin->name, .op = node.op->name});
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PlanNode& reading = nodes[i];
    if (reading.dead) continue;
    const auto check_read = [&](int read) {
      check(!nodes[static_cast<std::size_t>(read)].dead, "a node reads no dead one", reading);
    };
    for (const ValueId input : reading.inputs) check_read(input.node);
    for (const int awaited : reading.control) check_read(awaited);
    check(!index || index->is_current(*this, static_cast<int>(i)), "the index knows every reader",
          reading);
    PlanNode anew;
    anew.inputs = reading.inputs;
    update_input_variable(anew);
    check(anew.input_variable == reading.input_variable, "a node knows the variable behind it",
          reading);
  }
}

void infer_plan_node(PlanGraph& graph, PlanNode& node) {
  std::vector<OutputSpec> inputs;
  std::vector<const Array*> constants;
  for (ValueId input : node.inputs) {
    const PlanNode& producer = graph.node(input);
    const auto output = static_cast<std::size_t>(input.output);
    inputs.push_back(producer.outputs[output]);
    constants.push_back(producer.is_known(output) ? &producer.values[output] : nullptr);
  }
  graph.update_input_variable(node);
  InferenceContext context(node.attrs, inputs, constants);
  try {
    node.op->shape(context);
    std::vector<OutputSpec> outputs = context.take_outputs();
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
      // A shape promised by set_shape on the tape holds too, where the rule leaves it open.
      if (const auto merged = outputs[i].shape.merged(node.outputs[i].shape)) {
        outputs[i].shape = *merged;
      }
    }
    node.outputs = std::move(outputs);
    node.values.assign(node.outputs.size(), Array());
    if (const auto* constant = node.attrs.get_if<ConstAttrs>()) {
      node.values[0] = constant->value;
    } else if (node.op->constant) {
      node.values[0] = node.op->constant(context, node.outputs);
    }
  } catch (...) {
    rethrow_with({.site = node.origin->site, .node = node.origin->name, .op = node.op->name});
  }
}

PlanGraph build_plan_graph(std::span<const Fetch> fetches, std::span<const FeedSpec> feeds,
                           PassLog& log) {
  PlanGraph graph;
  FedTensors fed;
  std::map<std::pair<const Node*, int>, ValueId> fed_values;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const FeedSpec& feed = feeds[i];
    const std::pair key(static_cast<const Node*>(&feed.tensor.node()), feed.tensor.index());
    fed[key] = static_cast<int>(i);
    fed_values[key] = {static_cast<int>(graph.nodes.size()), 0};
    PlanNode node;
    node.op = &feed_op();
    node.outputs = {{feed.dtype, feed.shape, false}};
    node.values.resize(1);
    node.origin = &feed.tensor.node();
    node.feed = static_cast<int>(i);
    node.depends_on_feed = feed.tensor.op().type() != "Placeholder";
    graph.nodes.push_back(std::move(node));
  }

  std::unordered_map<const Node*, int> index;
  const auto value_of = [&](const Tensor& tensor) {
    const auto it = fed_values.find({&tensor.node(), tensor.index()});
    return it != fed_values.end() ? it->second : ValueId{index.at(&tensor.node()), tensor.index()};
  };
  const auto tape = needed_nodes(fetches, fed);
  for (const Node* node : tape) {
    PlanNode made;
    made.op = node->op;
    made.attrs = node->attrs;
    {
      const std::lock_guard lock(node->graph->mutex());  // set_shape may write them
      made.outputs = node->outputs;
    }
    made.origin = node;
    for (const Tensor& input : node->inputs) made.inputs.push_back(value_of(input));
    for (const Node* control : node->control_inputs) {
      if (!is_fed_source(*control, fed)) made.control.push_back(index.at(control));
    }
    made.own_read = is_own_read(*node);
    made.depends_on_feed = std::any_of(made.inputs.begin(), made.inputs.end(), [&](ValueId input) {
      return graph.node(input).depends_on_feed;
    });
    if (made.depends_on_feed) {
      for (OutputSpec& output : made.outputs) output.shape = Shape::unknown();
    }
    infer_plan_node(graph, made);
    index[node] = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(std::move(made));
  }
  for (const Fetch& fetch : fetches) {
    if (fetch.tensor()) {
      graph.fetches.push_back(value_of(*fetch.tensor()));
    } else {
      graph.fetches.push_back({-1, 0});
      graph.targets.push_back(index.at(&fetch.operation().node()));
    }
  }
  log.add(fmt::format("prune: {} of the tape's nodes are needed, {} tensors are fed", tape.size(),
                      feeds.size()));
  return graph;
}

}  // namespace towerflow
