// The passes that make the graph of a plan smaller: folding, sharing, rewriting.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "core/graph/constant.h"
#include "core/runtime/passes.h"

namespace towerflow {
namespace {

std::size_t output_bytes(const PlanNode& node) {
  std::size_t bytes = 0;
  for (const OutputSpec& output : node.outputs) {
    bytes += static_cast<std::size_t>(output.shape.elements()) * dtype_size(output.dtype);
  }
  return bytes;
}

bool foldable(const PlanGraph& graph, const PlanNode& node) {
  if (node.dead || node.feed >= 0 || node.op->effect != Effect::pure || node.outputs.empty() ||
      !node.control.empty() || node.is_known(0)) {
    return false;
  }
  for (const OutputSpec& output : node.outputs) {
    if (!output.shape.fully_known() || output.dtype == DType::resource) return false;
  }
  for (ValueId input : node.inputs) {
    if (!graph.node(input).is_known(static_cast<std::size_t>(input.output))) return false;
  }
  return output_bytes(node) <= kFoldedBytes;
}

void compute(PlanGraph& graph, PlanNode& node, const Device& device) {
  const KernelRequest request = kernel_request(graph, node, kHostSpace);
  const auto kernel = kernel_for(graph, node, device).prepare(request);
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (ValueId input : node.inputs) {
    inputs.push_back(graph.node(input).values[static_cast<std::size_t>(input.output)].raw());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    node.values[i] = Array(node.outputs[i].dtype, node.outputs[i].shape);
    outputs.push_back(node.values[i].raw());
  }
  Array workspace(DType::uint8, Shape{kernel->workspace_bytes()});
  ResourceStore resources;
  Cancellation cancellation;
  RunContext run{resources, cancellation};
  const auto queue = device.backend->make_queue(device.index, Lane::compute);
  kernel->enqueue(*queue, {.inputs = inputs.data(),
                           .outputs = outputs.data(),
                           .workspace = static_cast<std::byte*>(workspace.raw()),
                           .run = &run});
  queue->synchronize();
}

/// Whether a value is, or looks into, the storage of a variable.
bool reads_variable(const PlanGraph& graph, ValueId value) {
  const PlanNode& node = graph.node(value);
  if (graph.spec(value).is_ref || node.op->effect == Effect::variable) return true;
  return node.op->view && !node.inputs.empty() && reads_variable(graph, node.inputs[0]);
}

/// For each node what acts behind it, whoever reads it: itself where it has an effect, else the ops
/// with an effect behind its inputs and control inputs. Sorted; nodes of one kind share a list.
class EffectsBehind {
 public:
  using Ids = std::shared_ptr<const std::vector<int>>;

  explicit EffectsBehind(const PlanGraph& graph) : found_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const PlanNode& node = graph.nodes[i];
      if (node.dead || node.feed >= 0 || node.op->effect == Effect::variable) continue;
      if (node.op->effect == Effect::pure) {
        std::vector<int> behind = node.control;
        for (ValueId input : node.inputs) behind.push_back(input.node);
        found_[i] = together(behind);
      } else {
        found_[i] = std::make_shared<const std::vector<int>>(1, static_cast<int>(i));
      }
    }
  }

  /// Of several nodes, all that stand before the one that asks.
  Ids together(const std::vector<int>& nodes) const {
    Ids all;
    for (int node : nodes) {
      const Ids& more = found_[static_cast<std::size_t>(node)];
      if (more == nullptr || more == all) continue;
      if (all == nullptr) {
        all = more;
        continue;
      }
      std::vector<int> both;
      std::set_union(all->begin(), all->end(), more->begin(), more->end(),
                     std::back_inserter(both));
      if (both.size() == more->size()) {
        all = more;
      } else if (both.size() != all->size()) {
        all = std::make_shared<const std::vector<int>>(std::move(both));
      }
    }
    return all;
  }

 private:
  std::vector<Ids> found_;
};

void wait_for(PlanNode& node, const EffectsBehind::Ids& effects) {
  node.control = effects == nullptr ? std::vector<int>{} : *effects;
}

/// What a fetched group waits for is asked for as if it were fetched itself.
void ask_for_grouped(PlanGraph& graph) {
  std::set<int> asked(graph.targets.begin(), graph.targets.end());
  for (std::size_t i = 0; i < graph.targets.size(); ++i) {
    const PlanNode& node = graph.nodes[static_cast<std::size_t>(graph.targets[i])];
    if (node.op->effect != Effect::pure || !node.outputs.empty()) continue;
    for (const int member : node.control) {
      if (asked.insert(member).second) graph.targets.push_back(member);
    }
  }
}

/// Takes the inputs off a node whose value is known, but not what must run before them.
void drop_inputs(const EffectsBehind& effects, PlanNode& node) {
  std::vector<int> behind = node.control;
  for (ValueId input : node.inputs) behind.push_back(input.node);
  wait_for(node, effects.together(behind));
  node.inputs.clear();
}

}  // namespace

void drop_unread(PlanGraph& graph, PassLog& log) {
  ask_for_grouped(graph);
  const auto living = [&] {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [](const PlanNode& node) { return !node.dead; });
  };
  const auto all = living();
  const EffectsBehind effects(graph);
  for (PlanNode& node : graph.nodes) {
    if (node.dead || node.control.empty()) continue;
    wait_for(node, effects.together(node.control));
  }
  graph.remove_unneeded();
  log.add(fmt::format("unread: {} nodes that others only waited for", all - living()));
}

void fold_constants(PlanGraph& graph, const DeviceSet& devices, PassLog& log) {
  int folded = 0;
  std::vector<bool> found(graph.nodes.size(), false);  // a shape that was open before
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PlanNode& node = graph.nodes[i];
    if (node.dead || node.feed >= 0) continue;
    // Constants found above may make this node's shape more precise first. A shape found so has to
    // fit those who read it, whether theirs was known before or not.
    const bool open = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [](const auto& output) { return !output.shape.fully_known(); });
    const bool reads_found =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
          return static_cast<bool>(found[static_cast<std::size_t>(input.node)]);
        });
    if (open || reads_found) infer_plan_node(graph, node);
    found[i] = open && std::any_of(node.outputs.begin(), node.outputs.end(),
                                   [](const auto& output) { return output.shape.fully_known(); });
    if (!foldable(graph, node)) continue;
    try {
      compute(graph, node, devices[0]);
    } catch (...) {
      rethrow_with({.site = node.origin->site, .node = node.origin->name, .op = node.op->name});
    }
    ++folded;
  }
  const EffectsBehind effects(graph);
  for (PlanNode& node : graph.nodes) {
    if (!node.dead && node.op->effect == Effect::pure && !node.values.empty() &&
        std::all_of(node.values.begin(), node.values.end(),
                    [](const Array& value) { return !value.empty(); })) {
      drop_inputs(effects, node);
    }
  }
  graph.remove_unneeded();
  log.add(fmt::format("fold: {} nodes computed once, when the plan was made", folded));
}

void share_subexpressions(PlanGraph& graph, PassLog& log) {
  struct Key {
    const OpDef* op;
    int device;
    std::vector<ValueId> inputs;
    std::vector<int> control;
    auto operator<=>(const Key&) const = default;
  };
  std::multimap<Key, int> known;
  std::map<int, int> replaced;
  int shared = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PlanNode& node = graph.nodes[i];
    for (ValueId& input : node.inputs) {
      if (const auto it = replaced.find(input.node); it != replaced.end()) input.node = it->second;
    }
    for (int& control : node.control) {
      if (const auto it = replaced.find(control); it != replaced.end()) control = it->second;
    }
    if (node.dead || node.feed >= 0 || node.op->effect != Effect::pure || node.is_known(0) ||
        node.inputs.empty()) {
      continue;
    }
    if (std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId input) { return reads_variable(graph, input); })) {
      continue;
    }
    const Key key{node.op, node.device, node.inputs, node.control};
    const auto [first, last] = known.equal_range(key);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      return graph.nodes[static_cast<std::size_t>(entry.second)].attrs == node.attrs;
    });
    if (same == last) {
      known.emplace(key, static_cast<int>(i));
      continue;
    }
    replaced[static_cast<int>(i)] = same->second;
    node.dead = true;
    ++shared;
  }
  for (ValueId& fetch : graph.fetches) {
    if (const auto it = replaced.find(fetch.node); it != replaced.end()) fetch.node = it->second;
  }
  for (int& target : graph.targets) {
    if (const auto it = replaced.find(target); it != replaced.end()) target = it->second;
  }
  graph.remove_unneeded();
  log.add(fmt::format("share: {} nodes had an equal before them", shared));
}

void apply_rewrites(PlanGraph& graph, const PassOptions& options, PassLog& log) {
  std::map<std::string, int> counts;
  graph.index_readers();
  // Chains come last, also after a program's own rules: what they swallow no pattern finds again.
  std::vector<RewriteRule> rules = rewrite_rules();
  std::stable_partition(rules.begin(), rules.end(), [](const RewriteRule& rule) {
    return rule.kind != RewriteKind::elementwise;
  });
  for (const RewriteRule& rule : rules) {
    if (rule.kind == RewriteKind::convolution && !options.fuse_convolutions) continue;
    if (rule.kind == RewriteKind::update && !options.fuse_updates) continue;
    if (rule.kind == RewriteKind::elementwise && !options.fuse_elementwise) continue;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].dead || graph.nodes[i].feed >= 0 || graph.nodes[i].is_known(0)) continue;
      if (rule.apply(graph, static_cast<int>(i))) {
        infer_plan_node(graph, graph.nodes[i]);
        graph.index_reads(static_cast<int>(i));
        ++counts[rule.name];
      }
    }
    graph.remove_unneeded();
#ifdef TOWERFLOW_VERIFY
    graph.verify(rule.name);
#endif
  }
  graph.readers.clear();
  for (const auto& [name, count] : counts) {
    log.add(fmt::format("rewrite: {} applied {} times", name, count));
  }
}

}  // namespace towerflow
