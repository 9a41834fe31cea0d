#include "ops/variables/variable_scope.h"

#include <fmt/format.h>

#include <utility>

#include "core/graph/graph.h"

namespace towerflow {
namespace {

/// The open scope of a graph in one thread, and how often the thread opened scopes of each name.
struct ThreadScopes {
  std::shared_ptr<VariableScope> current = std::make_shared<VariableScope>();
  std::map<std::string, int> counts;

  /// Resets the counts of scopes whose names begin with `inside`, as TensorFlow does when the
  /// enclosing scope closes.
  void close_subscopes(const std::string& inside) {
    for (auto it = counts.lower_bound(inside); it != counts.end() && it->first.starts_with(inside);
         ++it) {
      it->second = 0;
    }
  }
};

ThreadScopes& scopes_of(Graph& graph) { return graph.scopes().extension<ThreadScopes>(); }

std::string joined_name(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : scope + "/" + name;
}

/// Returns the reuse of a scope inside another: it cannot be turned off inside a scope with reuse.
Reuse inherited(Reuse wanted, Reuse outer) {
  const bool asks = wanted.mode() == Reuse::Mode::yes || wanted.mode() == Reuse::Mode::automatic;
  return asks ? wanted : outer;
}

/// Returns a custom getter that calls `inner`, whose getter calls `outer` if there is one.
CustomGetter nested_getter(CustomGetter outer, CustomGetter inner) {
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

/// Throws ValueError for a value of another dtype than requested. The constant that TensorFlow
/// makes to find out the value's dtype stays in the graph, as it does in TensorFlow.
void check_initializer_dtype(Graph& graph, const GetVariableOptions& options,
                             const std::string& name, Site site) {
  if (!options.dtype || !options.initializer || !options.initializer->is_value()) return;
  const DType given =
      convert_operand(graph, options.initializer->value(), "", std::nullopt).dtype();
  if (given == *options.dtype) return;
  throw ValueError(fmt::format("Initializer type '{}' and explicit dtype '{}' don't match.",
                               dtype_name(given), dtype_name(*options.dtype)),
                   {.site = site,
                    .node = name,
                    .op = "get_variable",
                    .hint = "leave the dtype out: the value has one"});
}

std::string unique_default_name(Graph& graph, const std::string& prefix) {
  auto& [current, counts] = scopes_of(graph);
  const std::string name = joined_name(current->name(), prefix);
  if (counts[name] == 0) return prefix;
  int index = 1;
  while (counts[fmt::format("{}_{}", name, index)] > 0) ++index;
  return fmt::format("{}_{}", prefix, index);
}

/// Returns the graph that a scope is opened in. Throws TypeError if the scope has no name.
Graph& graph_of_scope(const VariableScopeOptions& options, bool named, Site site) {
  if (!named && !options.default_name) {
    throw TypeError("If default_name is None then name_or_scope is required", {.site = site});
  }
  return graph_of(options.values, site);
}

}  // namespace

void VariableScope::set_initializer(Initializer initializer) {
  initializer_ = std::move(initializer);
}
void VariableScope::set_regularizer(Regularizer regularizer) {
  regularizer_ = std::move(regularizer);
}
void VariableScope::set_caching_device(DeviceOrFunction device) {
  caching_device_ = std::move(device);
}
void VariableScope::set_partitioner(Partitioner partitioner) {
  partitioner_ = std::move(partitioner);
}
void VariableScope::set_custom_getter(CustomGetter getter) { custom_getter_ = std::move(getter); }

Collected<Variable> VariableScope::trainable_variables() const {
  return get_collection(GraphKeys::TRAINABLE_VARIABLES);
}
Collected<Variable> VariableScope::global_variables() const {
  return get_collection(GraphKeys::GLOBAL_VARIABLES);
}
Collected<Variable> VariableScope::local_variables() const {
  return get_collection(GraphKeys::LOCAL_VARIABLES);
}

VariableShape::VariableShape(std::initializer_list<Dim> dims) : shape_(Shape(dims)) {}
VariableShape::VariableShape(Shape shape) : shape_(std::move(shape)) {}
VariableShape::VariableShape(std::nullopt_t) {}
VariableShape::VariableShape(std::optional<Shape> shape) : shape_(std::move(shape)) {}

VariableScopeGuard::VariableScopeGuard(std::optional<std::string> name,
                                       std::shared_ptr<VariableScope> captured,
                                       const VariableScopeOptions& options, Site site)
    : default_graph_(graph_of_scope(options, name || captured != nullptr, site)),
      graph_(get_default_graph()),
      outer_(scopes_of(graph_).current),
      outer_name_(graph_.scopes().variable_scope) {
  graph_.scopes().check_nesting();
  const auto open_names = [&](const std::string& own) {
    if (options.auxiliary_name_scope) {
      if (!own.empty()) name_scope_ = std::make_unique<NameScope>(graph_, own, site);
    } else if (const std::string& now = graph_.scopes().name; !now.empty()) {
      name_scope_ = std::make_unique<NameScope>(graph_, now + "/", site);
    }
  };
  if (captured != nullptr) {
    open_names(captured->name().substr(captured->name().rfind('/') + 1));
    make(captured->name(), *captured, options, site);
    counts_before_ = scopes_of(graph_).counts;
    scope_->original_name_scope_ = captured->original_name_scope();
  } else {
    if (!name && options.reuse != Reuse(std::nullopt) && options.reuse != Reuse(false)) {
      throw ValueError("reuse=True cannot be used without a name_or_scope", {.site = site});
    }
    open_names(name ? *name : *options.default_name);
    const std::string own = name ? *name : unique_default_name(graph_, *options.default_name);
    make(joined_name(outer_->name(), own), *outer_, options, site);
    if (!name && own != *options.default_name) {
      scope_->renamed_ = TakenName{*options.default_name, own, site};
    }
    scope_->original_name_scope_ = name_scope_ != nullptr ? name_scope_->name() : "";
  }
  inside_ = scope_->name() + "/";
  // Of the following only `opened` may throw, before anything has changed.
  ScopeState& state = graph_.scopes();
  const std::string* intern = graph_.intern(scope_->name());
  remembered_devices_ = state.remembered_devices.size();
  state.remembered_devices.reserve(remembered_devices_ + 1);
  state.opened(this, "variable_scope", site);
  scopes_of(graph_).current = scope_;
  state.variable_scope = intern;
  state.remembered_devices.push_back(state.hidden_devices.size());
}

void VariableScopeGuard::make(const std::string& name, const VariableScope& from,
                              const VariableScopeOptions& options, Site site) {
  scope_ = std::make_shared<VariableScope>(from);
  scope_->name_ = name;
  scope_->reuse_ = inherited(options.reuse, from.reuse());
  if (scope_->reuse_ != from.reuse()) scope_->reuse_site_ = site;
  scope_->constraint_ = options.constraint;
  if (options.initializer) scope_->initializer_ = options.initializer;
  if (options.regularizer) scope_->regularizer_ = options.regularizer;
  if (options.caching_device) scope_->caching_device_ = options.caching_device;
  if (options.home) scope_->home_ = options.home;
  if (options.partitioner) scope_->partitioner_ = options.partitioner;
  if (options.custom_getter) {
    scope_->custom_getter_ = nested_getter(from.custom_getter_, options.custom_getter);
  }
  if (options.dtype) scope_->dtype_ = *options.dtype;
  if (options.use_resource) scope_->use_resource_ = options.use_resource;
  ++scopes_of(graph_).counts[name];
}

VariableScopeGuard::~VariableScopeGuard() {
  if (!graph_.scopes().closed(this)) return;
  ThreadScopes& scopes = scopes_of(graph_);
  if (counts_before_) {
    scopes.counts = *std::move(counts_before_);
  } else {
    scopes.close_subscopes(inside_);
  }
  scopes.current = outer_;
  graph_.scopes().variable_scope = outer_name_;
  auto& remembered = graph_.scopes().remembered_devices;
  remembered.resize(std::min(remembered.size(), remembered_devices_));
}

VariableScopeGuard variable_scope(const Text& name, VariableScopeOptions options, Site site) {
  return VariableScopeGuard(name.str(), nullptr, options, site);
}

VariableScopeGuard variable_scope(const VariableScopeHandle& scope, VariableScopeOptions options,
                                  Site site) {
  return VariableScopeGuard(std::nullopt, scope.shared(), options, site);
}

VariableScopeGuard variable_scope(std::nullopt_t, VariableScopeOptions options, Site site) {
  return VariableScopeGuard(std::nullopt, nullptr, options, site);
}

VariableScopeHandle make_variable_scope(const std::string& name, bool exact_name,
                                        CustomGetter custom_getter, Site site) {
  Graph& graph = get_default_graph();
  const std::string own = exact_name ? name : unique_default_name(graph, name);
  // Entering a scope again would reset the name scope, so stay in the open one.
  const VariableScopeGuard scope(
      own, nullptr,
      {.custom_getter = std::move(custom_getter),
       .dtype = DType::float32,  // not inherited, since the scope is made on its own
       .auxiliary_name_scope = false},
      site);
  scope->original_name_scope_ = own;
  return scope;
}

VariableScopeHandle get_variable_scope() {
  return VariableScopeHandle(scopes_of(get_default_graph()).current);
}

Variable get_variable(const std::string& name, const VariableShape& asked,
                      GetVariableOptions options, Site site) {
  const std::optional<Shape>& shape = asked.get();
  Graph& graph = get_default_graph();
  const VariableScope& scope = *scopes_of(graph).current;
  const OpenScopes open{scope.name(), graph.scopes().name, scope.reuse_site(), scope.renamed()};
  if (!options.regularizer) options.regularizer = scope.regularizer();
  if (!options.caching_device) options.caching_device = scope.caching_device();
  if (!options.home) options.home = colocated_home(graph);
  if (!options.home && scope.home()) {
    // What no optimizer changes has nothing to mirror.
    const bool to_mirror = options.trainable.value_or(true);
    const bool mirrored = scope.home() == VariableHome::mirrored;
    options.home = mirrored && !to_mirror ? VariableHome::host : scope.home();
  }
  if (!options.partitioner) options.partitioner = scope.partitioner();
  if (!options.custom_getter) options.custom_getter = scope.custom_getter();
  if (options.reuse == Reuse(std::nullopt)) options.reuse = scope.reuse();
  if (!options.use_resource) options.use_resource = scope.use_resource();
  // The name depends only on variable scopes: leave all name scopes while it is made.
  const NameScope root(graph, std::nullopt, site);
  const std::string full_name = joined_name(scope.name(), name);
  check_initializer_dtype(graph, options, full_name, site);
  if (!options.initializer) options.initializer = scope.initializer();
  if (!options.constraint) options.constraint = scope.constraint();
  if (!options.dtype) options.dtype = scope.dtype();
  if (!options.trainable) {
    options.trainable = options.synchronization != VariableSynchronization::ON_READ;
  }
  const VariableGetter getter = [&](const std::string& its_name,
                                    const std::optional<Shape>& its_shape,
                                    const GetVariableOptions& its_options) {
    return graph.extension<VariableStore>().get(its_name, its_shape, its_options, open, site);
  };
  if (!options.custom_getter) return getter(full_name, shape, options);
  return std::exchange(options.custom_getter, nullptr)(getter, full_name, shape, options);
}

Variable get_local_variable(const std::string& name, const VariableShape& shape,
                            GetVariableOptions options, Site site) {
  options.trainable = false;
  if (!options.collections) options.collections.emplace();
  options.collections->push_back(GraphKeys::LOCAL_VARIABLES);
  return get_variable(name, shape, std::move(options), site);
}

}  // namespace towerflow
