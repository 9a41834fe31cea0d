#include "ops/variables/variable_scope.h"

#include <fmt/format.h>

#include <utility>

#include "core/graph/graph.h"

namespace towerflow {
namespace {

/// The variable scope that is open on this thread, for each graph that has one.
std::shared_ptr<VariableScope>& current_scope(Graph& graph) {
  thread_local std::vector<std::pair<std::uint64_t, std::shared_ptr<VariableScope>>> scopes;
  for (auto& [uid, scope] : scopes) {
    if (uid == graph.uid()) return scope;
  }
  if (scopes.size() >= 64) scopes.erase(scopes.begin(), scopes.begin() + 32);
  return scopes.emplace_back(graph.uid(), std::make_shared<VariableScope>()).second;
}

std::string joined(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : scope + "/" + name;
}

/// Reuse of a scope entered by name: on once it is on outside.
Reuse inherited(Reuse wanted, Reuse outer) {
  const bool asks = wanted.mode() == Reuse::Mode::yes || wanted.mode() == Reuse::Mode::automatic;
  return asks ? wanted : outer;
}

/// `inner` as the custom getter, with `outer`, where there is one, around what it calls.
CustomGetter around(CustomGetter outer, CustomGetter inner) {
  if (!outer) return inner;
  return [outer = std::move(outer), inner = std::move(inner)](
             const VariableGetter& getter, const std::string& name,
             const std::optional<Shape>& shape, const GetVariableOptions& options) {
    const VariableGetter through = [&](const std::string& its_name,
                                       const std::optional<Shape>& its_shape,
                                       const GetVariableOptions& its_options) {
      return outer(getter, its_name, its_shape, its_options);
    };
    return inner(through, name, shape, options);
  };
}

/// A value of another dtype than the one asked for is refused. The constant that TensorFlow makes
/// of the value to see its dtype stays in the graph there, and so here.
void check_dtype(Graph& graph, const GetVariableOptions& options, const std::string& name,
                 Site site) {
  if (!options.dtype || !options.initializer || options.initializer->is_function()) return;
  const DType given =
      convert_operand(graph, options.initializer->value(), "Const", std::nullopt).dtype();
  if (given == *options.dtype) return;
  throw ValueError(fmt::format("Initializer type '{}' and explicit dtype '{}' don't match.",
                               dtype_name(given), dtype_name(*options.dtype)),
                   {.site = site,
                    .node = name,
                    .op = "get_variable",
                    .hint = "leave the dtype out: the value has one"});
}

std::string unique_default_name(Graph& graph, const std::string& prefix) {
  auto& counts = graph.extension<VariableStore>().scope_counts();
  const std::string name = joined(current_scope(graph)->name(), prefix);
  if (counts[name] == 0) return prefix;
  int index = 1;
  while (counts[fmt::format("{}_{}", name, index)] > 0) ++index;
  return fmt::format("{}_{}", prefix, index);
}

}  // namespace

VariableScopeGuard::VariableScopeGuard(Graph& graph, std::optional<std::string> name,
                                       std::shared_ptr<VariableScope> captured,
                                       const VariableScopeOptions& options, Site site)
    : graph_(graph), outer_(current_scope(graph)) {
  const auto open_names = [&](const std::string& own) {
    if (options.auxiliary_name_scope) {
      if (!own.empty()) name_scope_ = std::make_unique<NameScope>(graph, own, site);
    } else if (const std::string& now = graph.scopes().name; !now.empty()) {
      name_scope_ = std::make_unique<NameScope>(graph, now + "/", site);
    }
  };
  if (captured != nullptr) {
    open_names(captured->name().substr(captured->name().rfind('/') + 1));
    const Reuse reuse = inherited(options.reuse, captured->reuse());
    open(captured->name(), *captured, options, reuse);
    counts_before_ = graph.extension<VariableStore>().scope_counts();
    scope_->original_name_scope_ = captured->original_name_scope();
    return;
  }
  if (name) {
    open_names(*name);
    open(joined(outer_->name(), *name), *outer_, options,
         inherited(options.reuse, outer_->reuse()));
  } else {
    if (options.reuse.mode() == Reuse::Mode::yes ||
        options.reuse.mode() == Reuse::Mode::automatic) {
      throw ValueError("reuse=True cannot be used without a name_or_scope", {.site = site});
    }
    open_names(options.default_name);
    const std::string unique = unique_default_name(graph, options.default_name);
    open(joined(outer_->name(), unique), *outer_, options,
         inherited(options.reuse, outer_->reuse()));
  }
  scope_->original_name_scope_ = name_scope_ != nullptr ? name_scope_->name() : "";
}

void VariableScopeGuard::open(const std::string& name, const VariableScope& from,
                              const VariableScopeOptions& options, Reuse reuse) {
  scope_ = std::make_shared<VariableScope>(from);
  scope_->name_ = name;
  scope_->reuse_ = reuse;
  if (options.initializer) scope_->initializer_ = options.initializer;
  if (options.dtype) scope_->dtype_ = *options.dtype;
  if (options.regularizer) scope_->regularizer_ = options.regularizer;
  if (options.custom_getter) {
    scope_->custom_getter_ = around(from.custom_getter_, options.custom_getter);
  }
  if (!options.caching_device.empty()) scope_->caching_device_ = options.caching_device;
  ++graph_.extension<VariableStore>().scope_counts()[name];
  current_scope(graph_) = scope_;
  hidden_devices_ = std::exchange(graph_.scopes().hidden_devices, nullptr);
}

VariableScopeGuard::~VariableScopeGuard() {
  auto& store = graph_.extension<VariableStore>();
  if (counts_before_) {
    store.scope_counts() = *std::move(counts_before_);
  } else {
    store.close_subscopes(scope_->name());
  }
  current_scope(graph_) = outer_;
  graph_.scopes().hidden_devices = hidden_devices_;
}

VariableScopeGuard variable_scope(const std::string& name, VariableScopeOptions options,
                                  Site site) {
  return VariableScopeGuard(get_default_graph(), name, nullptr, options, site);
}

VariableScopeGuard variable_scope(const VariableScopeHandle& scope, VariableScopeOptions options,
                                  Site site) {
  return VariableScopeGuard(get_default_graph(), std::nullopt, scope.shared(), options, site);
}

VariableScopeGuard variable_scope(std::nullopt_t, VariableScopeOptions options, Site site) {
  if (options.default_name.empty()) {
    throw TypeError("If default_name is None then name_or_scope is required", {.site = site});
  }
  return VariableScopeGuard(get_default_graph(), std::nullopt, nullptr, options, site);
}

VariableScopeHandle get_variable_scope() {
  return VariableScopeHandle(current_scope(get_default_graph()));
}

Variable get_variable(const std::string& name, const std::optional<Shape>& shape,
                      GetVariableOptions options, Site site) {
  Graph& graph = get_default_graph();
  const VariableScope& scope = *current_scope(graph);
  if (!options.regularizer) options.regularizer = scope.regularizer();
  if (!options.custom_getter) options.custom_getter = scope.custom_getter();
  if (options.caching_device.empty()) options.caching_device = scope.caching_device_;
  if (options.reuse == Reuse(std::nullopt)) options.reuse = scope.reuse();
  // The name comes from variable scopes alone: name scopes stand aside while it is made.
  const NameScope root(graph, std::nullopt, site);
  const std::string full_name = joined(scope.name(), name);
  check_dtype(graph, options, full_name, site);
  if (!options.initializer) options.initializer = scope.initializer_;
  if (!options.dtype) options.dtype = scope.dtype();
  const VariableGetter getter = [&](const std::string& its_name,
                                    const std::optional<Shape>& its_shape,
                                    const GetVariableOptions& its_options) {
    return graph.extension<VariableStore>().get(its_name, its_shape, its_options, scope.name(),
                                                site);
  };
  if (!options.custom_getter) return getter(full_name, shape, options);
  return std::exchange(options.custom_getter, nullptr)(getter, full_name, shape, options);
}

Variable get_local_variable(const std::string& name, const std::optional<Shape>& shape,
                            GetVariableOptions options, Site site) {
  options.trainable = false;
  if (!options.collections) options.collections.emplace();
  options.collections->push_back(GraphKeys::LOCAL_VARIABLES);
  return get_variable(name, shape, std::move(options), site);
}

}  // namespace towerflow
