#include "core/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>

#include "core/graph/capture.h"
#include "core/graph/constant.h"
#include "core/graph/control_flow.h"
#include "core/graph/graph_mutex.h"
#include "core/graph/nearest.h"
#include "core/graph/op_def.h"
#include "core/graph/scopes.h"
#include "core/graph/widening.h"

namespace towerflow {
namespace {

std::uint64_t next_uid() {
  static std::atomic<std::uint64_t> counter{1};
  return counter.fetch_add(1);
}

bool valid_op_name(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.empty() || !(is_letter(name[0]) || name[0] == '.')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || c == '_' || c == '.' || c == '\\' || c == '/' || c == '>' || c == '-';
  });
}

struct DefaultGraphs {
  std::vector<Graph*> stack;
  std::unique_ptr<Graph> global;
};

DefaultGraphs& default_graphs() {
  thread_local DefaultGraphs graphs;
  return graphs;
}

}  // namespace

Graph::Graph()
    : uid_(next_uid()),
      alive_(std::make_shared<const int>(0)),
      mutex_(std::make_unique<GraphMutex>()) {}
Graph::~Graph() = default;

ScopeState& Graph::scopes() {
  struct Entry {
    std::uint64_t uid = 0;
    std::weak_ptr<const int> graph;
    std::unique_ptr<ScopeState> state;
  };
  thread_local std::vector<Entry> entries;
  for (std::size_t i = entries.size(); i-- > 0;) {  // the newest graph is used most
    if (entries[i].uid == uid_) return *entries[i].state;
  }
  // Drop the entries of destroyed graphs.
  std::erase_if(entries, [](const Entry& entry) { return entry.graph.expired(); });
  entries.push_back({uid_, alive_, std::make_unique<ScopeState>()});
  return *entries.back().state;
}

std::string Graph::unique_name(const std::string& name, bool mark_as_used) {
  const std::string& scope = scopes().name;
  std::lock_guard lock(*mutex_);
  std::string full;
  full.reserve(scope.size() + name.size() + 10);  // room for '/' and a suffix
  if (!scope.empty()) full.append(scope).push_back('/');
  full += name;
  return names_.unique(std::move(full), mark_as_used);
}

GraphDescription Graph::describe() const { return GraphDescription(*this); }

void Graph::record_reuse(const Node& variable, Site site) { first_reuse_.emplace(&variable, site); }

std::optional<Site> Graph::first_reuse(const Node& variable) const {
  const auto found = first_reuse_.find(&variable);
  return found == first_reuse_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Graph::intern(const std::string& text) {
  std::lock_guard lock(*mutex_);
  return &*texts_.insert(text).first;
}

bool Graph::name_in_use(const std::string& full_name) const {
  std::lock_guard lock(*mutex_);
  return names_.is_in_use(full_name);
}

std::string Graph::node_name(const std::string& name, Site site) {
  std::string full;
  if (name.ends_with('/')) {
    full = name.substr(0, name.size() - 1);
  } else {
    full = unique_name(name);
  }
  if (!valid_op_name(full)) {
    throw ValueError(fmt::format("'{}' is not a valid node name", full),
                     {.site = site,
                      .hint = "a name starts with a letter, digit or '.', then also _ \\ / > - "
                              "are allowed"});
  }
  const bool duplicate = [&] {
    std::lock_guard lock(*mutex_);
    return names_.find(full) != nullptr;
  }();
  if (duplicate) {
    throw ValueError(
        fmt::format("Duplicate node name in graph: '{}'", full),
        {.site = site, .hint = "a name that ends with '/' is used as it is, without a suffix"});
  }
  return full;
}

Operation Graph::add(NodeSpec spec) {
  if (finalized_) {
    throw RuntimeError("Graph is finalized and cannot be modified.",
                       {.site = spec.site, .op = spec.op});
  }
  ScopeState& state = scopes();
  state.check_nesting();
  const OpDef& def = OpRegistry::global().get(spec.op);
  for (Tensor& input : spec.inputs) {
    if (input.node().graph != this) {
      if (CaptureScope* scope = CaptureScope::of(*this)) {
        input = scope->capture(input);
        continue;
      }
      throw ValueError(
          fmt::format("Tensor {} is from another graph than the one the {} is added "
                      "to: it must be from the same graph",
                      input.name(), spec.op),
          {.site = spec.site, .hint = "build the whole program under one graph.as_default()"});
    }
  }
  Node node;
  node.graph = this;
  node.op = &def;
  const bool has_own_scope = !spec.name.ends_with('/') && spec.op != "Const";
  node.name = node_name(spec.name, spec.site);
  node.inputs = std::move(spec.inputs);
  node.attrs = spec.attrs.empty() ? def.attrs.defaults() : std::move(spec.attrs);
  node.site = spec.site;
  node.variable_scope = state.variable_scope;
  node.role = state.role;
  node.context = context_for(node, state.context);
  for (const Tensor& input : node.inputs) check_input_context(node, input.node());
  infer(node);

  // An op that writes a variable is colocated with it, whatever device scopes are open.
  std::optional<ColocationScope> beside;
  if (!def.written.empty()) beside.emplace(*this, nullptr, false);
  for (const int written : def.written) {
    state.colocation.push_back(&node.inputs[static_cast<std::size_t>(written)].node());
  }
  if (!state.control.empty() || !spec.control_inputs.empty()) {
    Distinct<Node*> control_inputs = state.control_inputs_for(node.inputs);
    for (Node* control : spec.control_inputs) {
      if (control->graph != this) {
        throw ValueError(fmt::format("control input '{}' is from another graph", control->name),
                         {.site = spec.site, .node = node.name, .op = def.name});
      }
      control_inputs.add(control);
    }
    node.control_inputs = control_inputs.take();
  }
  if (node.context != nullptr) {
    // What the context adds for the node, such as the stack of a value, is named in its scope. That
    // scope is open already if the name ends with '/'; a constant has none.
    std::optional<NameScope> scope;
    if (has_own_scope) scope.emplace(*this, node.name + "/", spec.site);
    node.context->adopt(node);
  }
  if (state.colocation.empty() && state.pending_variable) {
    node.colocation_groups.push_back("loc:@" + *state.pending_variable);
  }
  if (!state.gradient_overrides.empty()) {
    const auto other = state.gradient_overrides.find(def.name);
    if (other != state.gradient_overrides.end()) node.gradient_op_type = other->second;
  }
  for (Node* other : state.colocation) {
    const auto& groups = other->colocation_groups;
    if (groups.empty())
      node.colocation_groups.push_back("loc:@" + other->name);
    else
      node.colocation_groups.insert(node.colocation_groups.end(), groups.begin(), groups.end());
  }
  std::sort(node.colocation_groups.begin(), node.colocation_groups.end());
  node.colocation_groups.erase(
      std::unique(node.colocation_groups.begin(), node.colocation_groups.end()),
      node.colocation_groups.end());

  // Sessions of other threads see published nodes, so the device must be set before. A device
  // function sees the finished operation, which is therefore published only after the function has
  // returned.
  const bool has_device_function =
      std::any_of(state.devices.begin(), state.devices.end(),
                  [](const auto& level) { return std::holds_alternative<DeviceFunction>(level); });
  if (!has_device_function) state.device_of(Operation(&node));
  std::optional<UnpublishedNodes> unpublished;
  if (has_device_function) unpublished.emplace(*this);
  Node* made = nullptr;
  {
    std::lock_guard lock(*mutex_);
    node.id = static_cast<int>(nodes_.size());
    made = &nodes_.emplace_back(std::move(node));
    names_.add(made);
    if (unpublished_scopes_ == 0) published_ = nodes_.size();
  }
  if (has_device_function) state.device_of(Operation(made));
  for (ControlLevel& level : state.control) level.made_inside.insert(made);
  if (made->context != nullptr) made->context->added(*made);
  return Operation(made);
}

void Graph::add_control_input(Node& node, Node& awaited) {
  std::lock_guard lock(*mutex_);
  auto& inputs = node.control_inputs;
  if (std::find(inputs.begin(), inputs.end(), &awaited) == inputs.end()) inputs.push_back(&awaited);
}

void Graph::set_back_edge(Node& merge, std::size_t input, const Tensor& value) {
  std::lock_guard lock(*mutex_);
  merge.inputs.at(input) = value;
}

void Graph::infer(Node& node) const {
  InferenceContext context(node);
  try {
    node.outputs = infer_outputs(*node.op, context);
  } catch (...) {
    rethrow_with({.site = node.site, .node = node.name, .op = node.op->name});
  }
}

std::size_t Graph::size() const {
  std::lock_guard lock(*mutex_);
  return nodes_.size();
}

std::size_t Graph::published() const {
  std::lock_guard lock(*mutex_);
  return published_;
}

const Node* Graph::find_published(const std::string& name) const {
  std::lock_guard lock(*mutex_);
  const Node* found = names_.find(name);
  return found != nullptr && static_cast<std::size_t>(found->id) < published_ ? found : nullptr;
}

UnpublishedNodes::UnpublishedNodes(Graph& graph) : graph_(graph) {
  std::lock_guard lock(*graph_.mutex_);
  ++graph_.unpublished_scopes_;
}

UnpublishedNodes::~UnpublishedNodes() {
  std::lock_guard lock(*graph_.mutex_);
  if (--graph_.unpublished_scopes_ == 0) graph_.published_ = graph_.nodes_.size();
}

Operation Graph::operation(std::size_t id) const {
  std::lock_guard lock(*mutex_);
  return Operation(const_cast<Node*>(&nodes_.at(id)));
}

std::vector<Operation> Graph::get_operations() const {
  std::lock_guard lock(*mutex_);
  std::vector<Operation> all;
  all.reserve(nodes_.size());
  for (const Node& node : nodes_) all.emplace_back(const_cast<Node*>(&node));
  return all;
}

Node* Graph::find(const std::string& name) const {
  std::lock_guard lock(*mutex_);
  return names_.find(name);
}

std::string Graph::nearest_operation_hint(const std::string& name) const {
  std::vector<std::string> names;
  {
    std::lock_guard lock(*mutex_);
    for (const Node& node : nodes_) names.push_back(node.name);
  }
  return nearest_hint(name, names);
}

Operation Graph::get_operation_by_name(const std::string& name, Site site) const {
  if (Node* found = find(name)) return Operation(found);
  const auto colon = name.find(':');
  if (colon != std::string::npos) {
    throw ValueError(
        fmt::format("Name '{}' appears to refer to a Tensor, not a Operation.", name),
        {.site = site,
         .hint = fmt::format("write '{}', or ask get_tensor_by_name", name.substr(0, colon))});
  }
  throw KeyError(fmt::format("The name '{}' refers to an Operation not in the graph.", name),
                 {.site = site, .hint = nearest_operation_hint(name)});
}

Tensor Graph::get_tensor_by_name(const std::string& name, Site site) const {
  constexpr const char* kForm = "Tensor names must be of the form \"<op_name>:<output_index>\".";
  const auto colon = name.rfind(':');
  if (colon == std::string::npos) {
    if (const Node* node = find(name)) {
      throw ValueError(
          fmt::format("The name '{}' refers to an Operation, not a Tensor. {}", name, kForm),
          {.site = site,
           .node = name,
           .op = node->op->name,
           .hint = fmt::format("write '{}:0'", name)});
    }
    throw ValueError(
        fmt::format("The name '{}' looks like an (invalid) Operation name, not a Tensor. {}", name,
                    kForm),
        {.site = site, .hint = nearest_operation_hint(name)});
  }
  int index = -1;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + colon + 1, end, index);
  const bool one_colon = name.find(':') == colon;
  if (!one_colon || parsed.ec != std::errc{} || parsed.ptr != end || index < 0) {
    throw ValueError(
        fmt::format("The name '{}' looks a like a Tensor name, but is not a valid one. {}", name,
                    kForm),
        {.site = site});
  }
  const std::string op_name = name.substr(0, colon);
  Node* node = find(op_name);
  const std::string missing =
      fmt::format("The name '{}' refers to a Tensor which does not exist. The operation, '{}', ",
                  name, op_name);
  if (node == nullptr) {
    throw KeyError(missing + "does not exist in the graph.",
                   {.site = site, .hint = nearest_operation_hint(op_name)});
  }
  if (static_cast<std::size_t>(index) >= node->outputs.size()) {
    throw KeyError(missing + fmt::format("exists but only has {} outputs.", node->outputs.size()),
                   {.site = site, .node = op_name, .op = node->op->name});
  }
  return Tensor(node, index);
}

Array constant_value(const Tensor& tensor) {
  const Node& node = tensor.node();
  if (const auto* attrs = node.attrs.get_if<ConstAttrs>()) return attrs->value;
  if (!node.op->constant) return {};
  const InferenceContext context(node);
  return node.op->constant(context, node.outputs);
}

DefaultGraphGuard Graph::as_default() { return DefaultGraphGuard(*this); }

Graph& get_default_graph() {
  DefaultGraphs& graphs = default_graphs();
  if (!graphs.stack.empty()) return *graphs.stack.back();
  if (!graphs.global) graphs.global = std::make_unique<Graph>();
  return *graphs.global;
}

void reset_default_graph() {
  DefaultGraphs& graphs = default_graphs();
  if (!graphs.stack.empty()) {
    throw RuntimeError("reset_default_graph was called inside a graph.as_default() block",
                       {.hint = "use a new tf::Graph instead"});
  }
  graphs.global.reset();
}

DefaultGraphGuard::DefaultGraphGuard(Graph& graph) : graph_(&graph) {
  ScopeState& state = graph.scopes();
  state.remembered_devices.push_back(state.hidden_devices.size());
  try {
    default_graphs().stack.push_back(graph_);
  } catch (...) {
    state.remembered_devices.pop_back();
    throw;
  }
}

DefaultGraphGuard::~DefaultGraphGuard() {
  auto& stack = default_graphs().stack;
  const auto it = std::find(stack.rbegin(), stack.rend(), graph_);
  if (it == stack.rend()) return;
  stack.erase(std::next(it).base());
  auto& remembered = graph_->scopes().remembered_devices;
  if (!remembered.empty()) remembered.pop_back();
}

GradientOverrideScope Graph::gradient_override_map(
    const std::map<std::string, std::string>& op_type_map) {
  return GradientOverrideScope(*this, op_type_map);
}

GradientOverrideScope::GradientOverrideScope(Graph& graph,
                                             const std::map<std::string, std::string>& op_type_map)
    : graph_(graph), before_(graph.scopes().gradient_overrides) {
  auto overrides = before_;
  for (const auto& [op_type, name] : op_type_map) overrides[op_type] = name;
  graph_.scopes().gradient_overrides.swap(overrides);
}

GradientOverrideScope::~GradientOverrideScope() {
  graph_.scopes().gradient_overrides = std::move(before_);
}

}  // namespace towerflow
