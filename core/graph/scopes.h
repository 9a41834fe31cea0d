#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace towerflow::types {

/// An open name scope, closed when the guard ends.
class [[nodiscard]] NameScope {
 public:
  NameScope(Graph& graph, std::optional<std::string> name, Site site,
            std::unique_ptr<DefaultGraphGuard> default_graph = nullptr);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// Returns the scope with a trailing '/', "tower_0/", as TensorFlow's `as scope` does.
  const std::string& name() const { return name_; }
  operator const std::string&() const { return name_; }  // NOLINT: get_collection(key, scope)

 private:
  std::unique_ptr<DefaultGraphGuard> default_graph_;
  Graph& graph_;
  std::string before_;
  std::string name_;
};

struct NameScopeOptions {
  std::optional<std::string> default_name{};  ///< used if no name is given
  /// Inputs of the block; their graph becomes the default graph.
  std::optional<std::vector<Tensor>> values{};
};

/// An open device scope, closed when the guard ends.
class [[nodiscard]] DeviceScope {
 public:
  DeviceScope(Graph& graph, DeviceLevel level, Site site = {});
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Graph& graph_;
  std::size_t depth_;
};

/// An open colocation scope, closed when the guard ends.
class [[nodiscard]] ColocationScope {
 public:
  ColocationScope(Graph& graph, Node* with, bool ignore_existing, Site site = {});
  ~ColocationScope();
  ColocationScope(const ColocationScope&) = delete;
  ColocationScope& operator=(const ColocationScope&) = delete;

 private:
  Graph& graph_;
  std::vector<DeviceLevel> devices_;
  std::vector<Node*> colocation_;
};

/// An open block of control dependencies, closed when the guard ends.
class [[nodiscard]] ControlDependencies {
 public:
  ControlDependencies(Graph& graph, std::optional<std::vector<Node*>> inputs, Site site = {});
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  Graph& graph_;
  std::vector<ControlLevel> outer_;
  ControlFlowContext* outer_context_ = nullptr;
  bool cleared_;
};

/// Sets the role of nodes made while the guard lives.
class [[nodiscard]] RoleScope {
 public:
  RoleScope(Graph& graph, NodeRole role);
  ~RoleScope();
  RoleScope(const RoleScope&) = delete;
  RoleScope& operator=(const RoleScope&) = delete;

 private:
  Graph& graph_;
  NodeRole before_;
};

/// Scope in which variables are created: without control dependencies. If a colocation scope hides
/// the device scopes around it and none is open inside it, restores those that were open when the
/// innermost variable scope, `as_default` block or InitScope was entered, or those of the root.
/// (init_scope)
class [[nodiscard]] InitScope {
 public:
  explicit InitScope(Graph& graph);
  ~InitScope();
  InitScope(const InitScope&) = delete;
  InitScope& operator=(const InitScope&) = delete;

 private:
  Graph& graph_;
  std::vector<DeviceLevel> devices_;  ///< the device scopes replaced by the restored ones
  bool restored_ = false;
  ControlDependencies outside_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Prefixes the names of nodes made while the guard lives. The scope is made unique within the
/// outer one, used as is if it ends with '/', and is the root if empty or absent. (tf.name_scope)
/// Throws ValueError for an invalid name, and if `values` are given without a name.
NameScope name_scope(std::optional<std::string> name, NameScopeOptions options = {},
                     Site site = Site::current());

/// Requests a device for nodes made while the guard lives. Inner scopes take precedence part by
/// part; `nullopt` ignores the outer ones. (tf.device) Throws ValueError for an unknown spelling.
DeviceScope device(const std::string& spec, Site site = Site::current());
inline DeviceScope device(const char* spec, Site site = Site::current()) {
  return device(std::string(spec), site);
}
DeviceScope device(std::nullopt_t, Site site = Site::current());
DeviceScope device(DeviceFunction function, Site site = Site::current());

/// Returns the level that a device scope with this spelling or function opens.
DeviceLevel device_level(const DeviceOrFunction& device, Site site);

/// Returns the graph that all values belong to, the default one if there are none. Throws
/// ValueError naming two values of different graphs.
Graph& graph_of(const std::vector<Tensor>& values, Site site);

/// Colocates nodes made while the guard lives with `op`, whatever device scopes are open.
/// (tf.colocate_with)
ColocationScope colocate_with(const Operation& op, bool ignore_existing = false,
                              Site site = Site::current());
/// Ignores outer colocation and device scopes. Throws ValueError without `ignore_existing`.
ColocationScope colocate_with(std::nullopt_t, bool ignore_existing, Site site = Site::current());

/// Makes nodes created while the guard lives run after all of `inputs`. (tf.control_dependencies)
ControlDependencies control_dependencies(std::span<const Fetch> inputs,
                                         Site site = Site::current());
inline ControlDependencies control_dependencies(std::initializer_list<Fetch> inputs,
                                                Site site = Site::current()) {
  return control_dependencies(std::span<const Fetch>(inputs.begin(), inputs.size()), site);
}
template <FetchLike T>
ControlDependencies control_dependencies(const std::vector<T>& inputs,
                                         Site site = Site::current()) {
  return control_dependencies(std::span<const Fetch>(to_fetches(inputs, site)), site);
}
/// Ignores the outer blocks, and the open branch or loop.
ControlDependencies control_dependencies(std::nullopt_t, Site site = Site::current());

/// Runs `body(scope)` while `scope` is open and returns what it returns:
/// `auto y = tf::with(tf::variable_scope("conv1"), [&](auto& scope) { ...; return y; });`
template <class Scope, class Body>
auto with(Scope&& scope, Body&& body) {
  return body(scope);
}

/// Adds an object to the collection `key` of the default graph. (tf.add_to_collection)
template <class T>
void add_to_collection(const std::string& key, const T& object) {
  get_default_graph().collections().add(key, CollectionItem::of(object));
}

/// Adds an object once to each of several collections. (tf.add_to_collections)
template <class T>
void add_to_collections(const std::set<std::string>& keys, const T& object) {
  for (const std::string& key : keys) add_to_collection(key, object);
}

/// Returns a reference to the entries under `key` of the default graph, created if there are none;
/// changing the list changes the collection. (tf.get_collection_ref)
inline std::vector<CollectionItem>& get_collection_ref(const std::string& key) {
  return get_default_graph().collections().ref(key);
}

/// Returns the entries of the collection `key` of the default graph in order, with duplicates. As
/// in TensorFlow, `scope` selects the names whose beginning it matches. (tf.get_collection) Throws
/// TypeError naming an entry that is not a T. Tensors, variables and operations all convert to a
/// Fetch.
template <class T = Tensor>
Collected<T> get_collection(const std::string& key,
                            const std::optional<std::string>& scope = std::nullopt) {
  return get_default_graph().collections().get<T>(key, scope);
}

}  // namespace towerflow
