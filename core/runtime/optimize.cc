// The passes that simplify the graph of a plan: folding, sharing, rewriting.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "core/device/flushed_denormals.h"
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
      !node.control.empty() || node.is_known(0) || node.is_merge() || node.loop || node.must_run) {
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
  const KernelRequest request = kernel_request(graph, node, device);
  const auto kernel = prepare_kernel(kernel_for(graph, node, device), request);
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
  if (const auto failed = queue->synchronize()) std::rethrow_exception(failed->error);
}

/// The op of a join, which waits for many effects; other nodes wait for the join instead.
const OpDef& join_op() {
  static const OpDef def{
      .name = "_Join", .shape = {}, .gradient = NoGradient{"it exists in plans only"}};
  return def;
}

/// For each node, the effects behind it: the node itself if its op has an effect, else the nearest
/// ops with an effect that it depends on through inputs and control inputs. Lists are sorted and
/// shared by nodes that have the same effects behind them. A long list is replaced by a join, so
/// that it is not repeated for each node that depends on it.
class EffectDependencies {
 public:
  explicit EffectDependencies(PlanGraph& graph) : graph_(graph), found_(graph.nodes.size()) {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const PlanNode& node = graph.nodes[i];
      if (node.dead || node.feed >= 0 || node.op->effect == Effect::variable) continue;
      const bool acts = node.op->effect != Effect::pure || node.op == &join_op();
      found_[i] = acts ? std::make_shared<const std::vector<int>>(1, static_cast<int>(i))
                       : effects_before(i, true);
    }
  }

  /// Replaces the control inputs of a node by the effects behind them; with `inputs`, also by those
  /// behind its data inputs.
  void set_control_inputs(std::size_t node, bool inputs) {
    const Ids effects = effects_before(node, inputs);
    graph_.nodes[node].control = effects == nullptr ? std::vector<int>{} : *effects;
  }

  /// Moves the joins in front of the nodes that wait for them.
  void place_joins() {
    if (joins_.empty()) return;
    std::stable_sort(joins_.begin(), joins_.end(),
                     [](const Join& a, const Join& b) { return a.before < b.before; });
    std::vector<int> order;
    auto join = joins_.begin();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      for (; join != joins_.end() && join->before == i; ++join) order.push_back(join->node);
      order.push_back(static_cast<int>(i));
    }
    joins_.clear();
    graph_.reorder(order);
  }

 private:
  using Ids = std::shared_ptr<const std::vector<int>>;

  struct Join {
    std::size_t before = 0;  ///< the node that needs it
    int node = -1;           ///< its position at the end of the graph
  };

  static constexpr std::size_t kMaxListed = 16;

  /// Returns the effects behind a node's control inputs and, with `inputs`, its data inputs;
  /// nullptr for none.
  Ids effects_before(std::size_t asking, bool inputs) {
    Ids all;
    std::vector<int> many;  // used if no single list contains them all
    const auto add = [&](int id) {
      const Ids& more = found_[static_cast<std::size_t>(id)];
      if (more == nullptr || more == all) return;
      if (all == nullptr) {
        all = more;
        return;
      }
      if (many.empty()) {
        const Ids& larger = more->size() > all->size() ? more : all;
        const Ids& smaller = more->size() > all->size() ? all : more;
        if (std::includes(larger->begin(), larger->end(), smaller->begin(), smaller->end())) {
          all = larger;
          return;
        }
        many = *all;
      }
      many.insert(many.end(), more->begin(), more->end());
    };
    const PlanNode& node = graph_.nodes[asking];
    for (const int awaited : node.control) add(awaited);
    for (std::size_t i = 0; inputs && i < node.inputs.size(); ++i) add(node.inputs[i].node);
    if (many.empty()) return all;
    std::sort(many.begin(), many.end());
    many.erase(std::unique(many.begin(), many.end()), many.end());
    if (many.size() > kMaxListed) many = {join(asking, std::move(many))};
    return std::make_shared<const std::vector<int>>(std::move(many));
  }

  int join(std::size_t asking, std::vector<int> effects) {
    PlanNode made;
    made.op = &join_op();
    made.control = std::move(effects);
    made.origin = graph_.nodes[asking].origin;
    made.device = graph_.nodes[asking].device;
    joins_.push_back({asking, static_cast<int>(graph_.nodes.size())});
    graph_.nodes.push_back(std::move(made));
    return joins_.back().node;
  }

  PlanGraph& graph_;
  std::vector<Ids> found_;
  std::vector<Join> joins_;
};

/// Adds the members of fetched groups to the targets, as if they were fetched themselves.
void add_grouped_targets(PlanGraph& graph) {
  std::set<int> asked(graph.targets.begin(), graph.targets.end());
  for (std::size_t i = 0; i < graph.targets.size(); ++i) {
    const PlanNode& node = graph.nodes[static_cast<std::size_t>(graph.targets[i])];
    if (node.op->effect != Effect::pure || !node.outputs.empty()) continue;
    for (const int member : node.control) {
      if (asked.insert(member).second) graph.targets.push_back(member);
    }
  }
}

}  // namespace

void drop_unread(PlanGraph& graph, PassLog& log) {
  add_grouped_targets(graph);
  const auto count_live = [&] {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [](const PlanNode& node) { return !node.dead && node.op != &join_op(); });
  };
  const auto all = count_live();
  EffectDependencies effects(graph);
  for (std::size_t i = 0, size = graph.nodes.size(); i < size; ++i) {
    const PlanNode& node = graph.nodes[i];
    if (!node.dead && node.op != &join_op() && !node.control.empty())
      effects.set_control_inputs(i, false);
  }
  effects.place_joins();
  graph.remove_unneeded();
  log.add(fmt::format("unread: {} nodes whose values are not used", all - count_live()));
}

namespace {

/// Removes guards that are known to hold; returns whether one is known not to.
bool resolve_guards(const PlanGraph& graph, Guards& guards) {
  bool never = false;
  std::erase_if(guards, [&](const Guard& guard) {
    const PlanNode& pred = graph.nodes[static_cast<std::size_t>(guard.pred)];
    if (!pred.is_known(0)) return false;
    const bool holds = *pred.values[0].data<bool>() == guard.branch;
    never |= !holds;
    return holds;
  });
  return never;
}

/// Removes the conditions of a node that are known, and the inputs of a Merge that never exist; a
/// Merge of which one is left that always exists becomes an Identity. Returns whether inputs were
/// removed.
bool resolve_conditions(const PlanGraph& graph, PlanNode& node, bool index_is_read) {
  resolve_guards(graph, node.guards);
  if (!node.is_merge() || index_is_read) return false;
  std::vector<ValueId> inputs;
  std::vector<Guards> choices;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (resolve_guards(graph, node.choices[i])) continue;
    inputs.push_back(node.inputs[i]);
    choices.push_back(node.choices[i]);
  }
  if (inputs.empty() || inputs.size() == node.inputs.size()) return false;
  node.inputs = std::move(inputs);
  node.choices = std::move(choices);
  const bool only = node.inputs.size() == 1 && node.choices[0] == node.guards;
  if (only && !graph.spec(node.inputs[0]).is_ref) {
    node.op = &OpRegistry::global().get("Identity");
    node.attrs = node.op->attrs.defaults();
    node.choices.clear();
    node.outputs.resize(1);
  }
  return true;
}

/// Returns the nodes whose second output is read, of a Merge the number of the input taken.
std::vector<bool> second_outputs_read(const PlanGraph& graph) {
  std::vector<bool> read(graph.nodes.size(), false);
  const auto note = [&](ValueId value) {
    if (value.node >= 0 && value.output == 1) read[static_cast<std::size_t>(value.node)] = true;
  };
  for (const PlanNode& node : graph.nodes)
    std::for_each(node.inputs.begin(), node.inputs.end(), note);
  std::for_each(graph.fetches.begin(), graph.fetches.end(), note);
  return read;
}

}  // namespace

void fold_constants(PlanGraph& graph, const DeviceSet& devices, PassLog& log) {
  const FlushedDenormals flushed;  // as in a run
  int folded = 0;
  const std::vector<bool> second_read = second_outputs_read(graph);
  std::vector<bool> found(graph.nodes.size(), false);  // nodes whose shape became known here
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PlanNode& node = graph.nodes[i];
    if (node.dead || node.feed >= 0) continue;
    const bool decided = resolve_conditions(graph, node, second_read[i]);
    graph.update_input_variable(node);  // a Merge before it may have become a read of a variable
    // Constants computed above may make this node's shape more precise. A shape found that way must
    // be compatible with its readers, even if their shapes were known before.
    const bool open = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [](const auto& output) { return !output.shape.fully_known(); });
    const bool reads_found =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
          return static_cast<bool>(found[static_cast<std::size_t>(input.node)]);
        });
    if (open || reads_found || decided) infer_plan_node(graph, node);
    found[i] = open && std::any_of(node.outputs.begin(), node.outputs.end(),
                                   [](const auto& output) { return output.shape.fully_known(); });
    if (!foldable(graph, node)) continue;
    try {
      compute(graph, node, devices[0]);
    } catch (...) {
      if (node.guards.empty()) {
        rethrow_with({.site = node.origin->site, .node = node.origin->name, .op = node.op->name});
      }
      node.values.assign(node.outputs.size(), Array());  // the branch may not be taken
      continue;
    }
    ++folded;
  }
  // Removes the inputs of nodes with known values, but keeps the effects that must run before them.
  EffectDependencies effects(graph);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const PlanNode& node = graph.nodes[i];
    if (!node.dead && node.op->effect == Effect::pure && !node.values.empty() &&
        std::all_of(node.values.begin(), node.values.end(),
                    [](const Array& value) { return !value.empty(); })) {
      effects.set_control_inputs(i, true);
      graph.nodes[i].inputs.clear();
      graph.update_input_variable(graph.nodes[i]);
    }
  }
  effects.place_joins();
  graph.remove_unneeded();
  log.add(fmt::format("fold: {} nodes computed once, when the plan was made", folded));
}

void share_subexpressions(PlanGraph& graph, PassLog& log) {
  struct Key {
    const OpDef* op;
    int device;
    std::vector<ValueId> inputs;
    std::vector<int> control;
    Guards guards;
    std::size_t attrs;  // hash, since many readers of one input may differ only in attributes
    auto operator<=>(const Key&) const = default;
  };
  std::multimap<Key, int> known;
  std::vector<int> kept;           // per node: itself, or the equal node that replaces it
  std::vector<bool> sees_storage;  // per node: whether it is a variable's storage or a view of it
  int shared = 0;
  const auto rename = [&](Guards& guards) {
    for (Guard& guard : guards) guard.pred = kept[static_cast<std::size_t>(guard.pred)];
    std::sort(guards.begin(), guards.end());
  };
  const auto reads_variable = [&](ValueId value) {
    return graph.spec(value).is_ref || sees_storage[static_cast<std::size_t>(value.node)];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    PlanNode& node = graph.nodes[i];
    kept.push_back(static_cast<int>(i));
    for (ValueId& input : node.inputs) input.node = kept[static_cast<std::size_t>(input.node)];
    for (int& control : node.control) control = kept[static_cast<std::size_t>(control)];
    rename(node.guards);
    for (Guards& choice : node.choices) rename(choice);
    sees_storage.push_back(
        node.op->effect == Effect::variable ||
        (node.op->view && !node.inputs.empty() && reads_variable(node.inputs[0])));
    if (node.dead || node.feed >= 0 || node.op->effect != Effect::pure || node.is_known(0) ||
        node.inputs.empty() || node.is_merge() || node.loop || node.must_run) {
      continue;
    }
    if (std::any_of(node.inputs.begin(), node.inputs.end(), reads_variable)) continue;
    const Key key{node.op, node.device, node.inputs, node.control, node.guards, node.attrs.hash()};
    const auto [first, last] = known.equal_range(key);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      return graph.nodes[static_cast<std::size_t>(entry.second)].attrs == node.attrs;
    });
    if (same == last) {
      known.emplace(key, static_cast<int>(i));
      continue;
    }
    kept[i] = same->second;
    node.dead = true;
    ++shared;
  }
  for (ValueId& fetch : graph.fetches) {
    if (fetch.node >= 0) fetch.node = kept[static_cast<std::size_t>(fetch.node)];
  }
  for (int& target : graph.targets) target = kept[static_cast<std::size_t>(target)];
  graph.remove_unneeded();
  log.add(fmt::format("share: {} nodes replaced by an equal node", shared));
}

namespace {

/// Throws ValueError if a skipped rewrite is neither the kind nor the name of a rule.
void check_skipped(const std::set<std::string>& skipped, const std::vector<RewriteRule>& rules) {
  std::set<std::string> kinds, known;
  for (const RewriteRule& rule : rules) {
    kinds.insert(rule.kind);
    known.insert({rule.kind, rule.name});
  }
  for (const std::string& name : skipped) {
    if (known.contains(name)) continue;
    throw ValueError(
        fmt::format("skipped_rewrites has '{}', which is neither a rule nor a kind of rules", name),
        {.hint = fmt::format("the kinds are {}", fmt::join(kinds, ", "))});
  }
}

/// Returns whether the pattern of a rule can end at a node.
bool can_end_at(const RewriteRule& rule, const PlanNode& node) {
  return rule.last.empty() ||
         std::find(rule.last.begin(), rule.last.end(), node.op->name) != rule.last.end();
}

}  // namespace

namespace {

const std::vector<PlanPass>& plan_passes() {
  static const std::vector<PlanPass> passes = [] {
    std::vector<PlanPass> made;
    register_plan_passes(made);
    return made;
  }();
  return passes;
}

}  // namespace

void apply_rewrites(PlanGraph& graph, const DeviceSet& devices, const PassOptions& options,
                    PassLog& log) {
  std::map<std::string, int> counts;
  graph.build_index();
  graph.has_kernel = [&](const PlanNode& node) {
    const Device& device = devices[node.device];
    return device.backend->find_kernel(kernel_request(graph, node, device)) != nullptr;
  };
  // Elementwise chains come last, after a program's own rules too: no pattern can match ops inside
  // them.
  std::vector<RewriteRule> rules = rewrite_rules();
  std::stable_partition(rules.begin(), rules.end(),
                        [](const RewriteRule& rule) { return rule.kind != "elementwise"; });
  check_skipped(options.skipped_rewrites, rules);
  for (const RewriteRule& rule : rules) {
    const auto& skipped = options.skipped_rewrites;
    if (skipped.contains(rule.kind) || skipped.contains(rule.name)) continue;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const PlanNode& node = graph.nodes[i];
      if (node.dead || node.feed >= 0 || node.is_known(0) || !can_end_at(rule, node)) continue;
      if (rule.apply(graph, static_cast<int>(i))) ++counts[rule.name];
    }
    graph.remove_unneeded();
#ifdef TOWERFLOW_VERIFY
    graph.verify(rule.name);
#endif
  }
  graph.index.reset();
  for (const auto& [name, count] : counts) {
    log.add(fmt::format("rewrite: {} applied {} times", name, count));
  }
  for (const PlanPass& pass : plan_passes()) {
    const std::string done = pass.run(graph);
    if (!done.empty()) log.add(fmt::format("{}: {}", pass.name, done));
#ifdef TOWERFLOW_VERIFY
    graph.verify(pass.name);
#endif
  }
  graph.has_kernel = {};
}

}  // namespace towerflow
