#include "core/graph/scopes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/graph/capture.h"

namespace towerflow {
namespace {

bool valid_scope_name(const std::string& name, bool at_root) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (at_root && !(is_letter(name[0]) || name[0] == '.')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || c == '_' || c == '.' || c == '\\' || c == '/' || c == '>' || c == '-';
  });
}

std::vector<Node*> nodes_of(std::span<const Fetch> inputs) {
  std::vector<Node*> nodes;
  for (const Fetch& input : inputs) nodes.push_back(&input.operation().node());
  return nodes;
}

}  // namespace

// A guard whose constructor throws changes nothing: all that may throw precedes the first change.

NameScope::NameScope(Graph& graph, std::optional<std::string> name, Site site,
                     std::unique_ptr<DefaultGraphGuard> default_graph)
    : default_graph_(std::move(default_graph)), graph_(graph), before_(graph.scopes().name) {
  ScopeState& state = graph.scopes();
  state.check_nesting();
  std::string& current = state.name;
  if (!name || name->empty()) {
    state.opened(this, "name_scope", site);
    current.clear();
    return;
  }
  if (!valid_scope_name(*name, current.empty())) {
    throw ValueError(
        fmt::format("'{}' is not a valid {}scope name", *name, current.empty() ? "root " : ""),
        {.site = site,
         .hint = "letters, digits and _ . \\ / > - are allowed; at the root the "
                 "first must be a letter, digit or '.'"});
  }
  std::string next;
  if (name->ends_with('/')) {
    next = name->substr(0, name->size() - 1);
    name_ = *name;
  } else {
    next = graph.unique_name(*name);
    name_ = next + "/";
  }
  state.opened(this, "name_scope", site);
  current = std::move(next);
}

NameScope::~NameScope() {
  ScopeState& state = graph_.scopes();
  if (state.closed(this)) state.name = std::move(before_);
}

NameScope name_scope(std::optional<std::string> name, NameScopeOptions options, Site site) {
  if (!name) name = options.default_name;
  if (!name && options.values) {
    throw ValueError("At least one of name (None) and default_name (None) must be provided.",
                     {.site = site, .op = "name_scope"});
  }
  if (!options.values) return NameScope(get_default_graph(), std::move(name), site);
  Graph& graph = graph_of(*options.values, site);
  return NameScope(graph, std::move(name), site, std::make_unique<DefaultGraphGuard>(graph));
}

Graph& graph_of(const std::vector<Tensor>& values, Site site) {
  if (Graph* graph = CaptureScope::default_graph()) return *graph;
  for (const Tensor& value : values) {
    if (&value.graph() == &values[0].graph()) continue;
    throw ValueError(
        fmt::format("{} must be from the same graph as {}.", value.name(), values[0].name()),
        {.site = site, .hint = "build the whole program under one graph.as_default()"});
  }
  return values.empty() ? get_default_graph() : values[0].graph();
}

DeviceLevel device_level(const DeviceOrFunction& device, Site site) {
  if (const auto* spec = std::get_if<std::string>(&device)) return DeviceSpec::parse(*spec, site);
  return std::get<DeviceFunction>(device);
}

DeviceScope::DeviceScope(Graph& graph, DeviceLevel level, Site site)
    : graph_(graph), depth_(graph.scopes().devices.size()) {
  ScopeState& state = graph.scopes();
  state.check_nesting();
  state.devices.reserve(state.devices.size() + 1);
  state.opened(this, "device", site);
  state.devices.push_back(std::move(level));
}

DeviceScope::~DeviceScope() {
  if (!graph_.scopes().closed(this)) return;
  auto& devices = graph_.scopes().devices;
  if (depth_ < devices.size()) {
    devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(depth_), devices.end());
  }
}

DeviceScope device(const std::string& spec, Site site) {
  return DeviceScope(get_default_graph(), DeviceSpec::parse(spec, site), site);
}

DeviceScope device(std::nullopt_t, Site site) {
  return DeviceScope(get_default_graph(), std::monostate{}, site);
}

DeviceScope device(DeviceFunction function, Site site) {
  if (!function) return device(std::nullopt, site);
  return DeviceScope(get_default_graph(), std::move(function), site);
}

ColocationScope::ColocationScope(Graph& graph, Node* with, bool ignore_existing, Site site)
    : graph_(graph), colocation_(graph.scopes().colocation) {
  ScopeState& state = graph.scopes();
  state.hidden_devices.reserve(state.hidden_devices.size() + 1);
  state.colocation.reserve(state.colocation.size() + 1);
  state.opened(this, "colocate_with", site);
  devices_.swap(state.devices);
  state.hidden_devices.push_back(&devices_);
  if (ignore_existing) state.colocation.clear();
  if (with != nullptr) state.colocation.push_back(with);
}

ColocationScope::~ColocationScope() {
  ScopeState& state = graph_.scopes();
  if (!state.closed(this)) return;
  std::erase(state.hidden_devices, &devices_);
  state.devices = std::move(devices_);
  state.colocation = std::move(colocation_);
}

RoleScope::RoleScope(Graph& graph, NodeRole role)
    : graph_(graph), before_(std::exchange(graph.scopes().role, role)) {}

RoleScope::~RoleScope() { graph_.scopes().role = before_; }

InitScope::InitScope(Graph& graph) : graph_(graph), outside_(graph, std::nullopt) {
  ScopeState& state = graph.scopes();
  const std::vector<DeviceLevel>* found = state.innermost_remembered_devices();
  std::vector<DeviceLevel> devices;
  if (found != nullptr) devices = *found;
  const std::size_t hidden = state.hidden_devices.size();
  state.hidden_devices.reserve(hidden + 1);
  state.remembered_devices.push_back(hidden);
  if (found == nullptr) return;
  restored_ = true;
  devices_ = std::exchange(state.devices, std::move(devices));
  state.hidden_devices.push_back(&devices_);
}

InitScope::~InitScope() {
  ScopeState& state = graph_.scopes();
  if (!state.remembered_devices.empty()) state.remembered_devices.pop_back();
  if (!restored_) return;
  std::erase(state.hidden_devices, &devices_);
  state.devices = std::move(devices_);
}

ColocationScope colocate_with(const Operation& op, bool ignore_existing, Site site) {
  return ColocationScope(op.graph(), &op.node(), ignore_existing, site);
}

ColocationScope colocate_with(std::nullopt_t, bool ignore_existing, Site site) {
  if (!ignore_existing) {
    throw ValueError("Trying to reset colocation (op is None) but ignore_existing is not True",
                     {.site = site});
  }
  return ColocationScope(get_default_graph(), nullptr, true, site);
}

ControlDependencies::ControlDependencies(Graph& graph, std::optional<std::vector<Node*>> inputs,
                                         Site site)
    : graph_(graph), cleared_(!inputs) {
  for (const Node* input : inputs.value_or(std::vector<Node*>{})) {
    if (input->graph == &graph) continue;
    throw ValueError(fmt::format("Operation {} is not an element of this graph.", input->name),
                     {.site = site,
                      .op = "control_dependencies",
                      .hint = "build the whole program under one graph.as_default()"});
  }
  auto& control = graph.scopes().control;
  if (cleared_) {
    graph.scopes().opened(this, "control_dependencies", site);
    outer_.swap(control);
    outer_context_ = std::exchange(graph.scopes().context, nullptr);
    return;
  }
  ControlLevel made;
  for (Node* input : *inputs) {
    // Inputs that an outer block already waits for are not inputs of this one.
    const bool outside =
        std::any_of(control.begin(), control.end(),
                    [&](const ControlLevel& level) { return level.inputs.contains(input); });
    if (!outside) made.inputs.add(input);
  }
  control.reserve(control.size() + 1);
  graph.scopes().opened(this, "control_dependencies", site);
  control.push_back(std::move(made));
}

ControlDependencies::~ControlDependencies() {
  if (!graph_.scopes().closed(this)) return;
  ScopeState& state = graph_.scopes();
  if (cleared_) {
    state.control = std::move(outer_);
    state.context = outer_context_;
  } else if (!state.control.empty()) {
    state.control.pop_back();
  }
}

ControlDependencies control_dependencies(std::span<const Fetch> inputs, Site site) {
  return ControlDependencies(get_default_graph(), nodes_of(inputs), site);
}

ControlDependencies control_dependencies(std::nullopt_t, Site site) {
  return ControlDependencies(get_default_graph(), std::nullopt, site);
}

}  // namespace towerflow
