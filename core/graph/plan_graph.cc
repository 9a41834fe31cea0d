#include "core/graph/plan_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/graph/constant.h"
#include "core/graph/graph.h"
#include "core/graph/graph_mutex.h"
#include "core/graph/variable_attrs.h"
#include "core/graph/widening.h"

namespace towerflow {
namespace {

/// Finds the nodes that a replaced node awaited by way of inputs that it no longer has, such as
/// those behind a constant axis that was made under control dependencies.
class LostControl {
 public:
  LostControl(const PlanGraph& graph, const std::vector<Replacement>& made) : graph_(graph) {
    for (const Replacement& one : made) {
      for (const ValueId input : graph.nodes[static_cast<std::size_t>(one.node)].inputs)
        seen_.insert(input.node);
      seen_.insert(one.node);
    }
  }
  /// Adds to `control` what the nodes behind `inputs` await, up to nodes that are kept.
  void add(const std::vector<ValueId>& inputs, std::vector<int>& control) {
    std::vector<ValueId> open = inputs;
    while (!open.empty()) {
      const ValueId input = open.back();
      open.pop_back();
      if (!seen_.insert(input.node).second) continue;
      const PlanNode& lost = graph_.node(input);
      open.insert(open.end(), lost.inputs.begin(), lost.inputs.end());
      for (const int awaited : lost.control) {
        if (std::find(control.begin(), control.end(), awaited) == control.end())
          control.push_back(awaited);
      }
    }
  }

 private:
  const PlanGraph& graph_;
  std::set<int> seen_;
};

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
  for (std::size_t i = 0; i < replacements.size(); ++i) {
    PlanNode& node = nodes[static_cast<std::size_t>(replacements[i].node)];
    LostControl(*this, replacements).add(before[i].inputs, node.control);
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

bool PlanGraph::is_mirrored(int variable) const {
  const auto* attrs = nodes[static_cast<std::size_t>(variable)].attrs.get_if<VariableAttrs>();
  return attrs != nullptr && attrs->home == VariableHome::mirrored;
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
    for (Guard& guard : node.guards) renumber(guard.pred);
    for (Guards& choice : node.choices) {
      for (Guard& guard : choice) renumber(guard.pred);
    }
    renumber(node.input_variable);
  }
  for (ValueId& fetch : fetches) renumber(fetch.node);
  for (int& target : targets) renumber(target);
  decltype(twins) renumbered;
  for (const auto& [key, twin] : twins) {
    auto [value, device] = key;
    ValueId same = twin;
    renumber(value.node);
    renumber(same.node);
    renumbered.emplace(std::pair(value, device), same);
  }
  twins = std::move(renumbered);
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
    for (Guard guard : node.guards) needed[static_cast<std::size_t>(guard.pred)] = true;
    for (const Guards& choice : node.choices) {
      for (Guard guard : choice) needed[static_cast<std::size_t>(guard.pred)] = true;
    }
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
    for (const Guard guard : reading.guards) check_read(guard.pred);
    for (std::size_t in = 0; in < reading.inputs.size() && !reading.reads_absent(); ++in) {
      const Guards& exists = node(reading.inputs[in]).guards;
      check(spec(reading.inputs[in]).is_ref || node(reading.inputs[in]).is_known(0) ||
                std::includes(reading.guards.begin(), reading.guards.end(), exists.begin(),
                              exists.end()),
            "a node runs only if its inputs exist", reading);
    }
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
    std::vector<OutputSpec> outputs = infer_outputs(*node.op, context);
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
      // A shape promised by set_shape on the tape holds too, where the rule leaves it open.
      if (const auto merged = outputs[i].shape.merged(node.outputs[i].shape)) {
        outputs[i].shape = *merged;
      }
    }
    if (node.is_merge()) outputs[0].is_ref = false;  // it is a copy
    node.outputs = std::move(outputs);
    node.values.assign(node.outputs.size(), Array());
    if (const auto* constant = node.attrs.get_if<ConstAttrs>()) {
      node.values[0] = constant->value;
    } else if (node.op->constant) {
      node.values[0] = node.op->constant(context, node.outputs);
    }
  } catch (...) {
    if (node.guards.empty()) {
      rethrow_with({.site = node.origin->site, .node = node.origin->name, .op = node.op->name});
    }
    // In a branch that is not taken for these shapes, perhaps; if it is, the run fails.
    for (OutputSpec& output : node.outputs) output.shape = Shape::unknown();
    node.values.assign(node.outputs.size(), Array());
  }
}

}  // namespace towerflow
