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

/// An open name scope; the scope ends with the guard.
class [[nodiscard]] NameScope {
 public:
  NameScope(Graph& graph, std::optional<std::string> name, Site site,
            std::unique_ptr<DefaultGraphGuard> default_graph = nullptr);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

  /// The scope with its trailing '/', "tower_0/", as TensorFlow's `as scope` gives it.
  const std::string& name() const { return name_; }
  operator const std::string&() const { return name_; }  // NOLINT: get_collection(key, scope)

 private:
  std::unique_ptr<DefaultGraphGuard> default_graph_;
  Graph& graph_;
  std::string before_;
  std::string name_;
};

struct NameScopeOptions {
  std::optional<std::string> default_name{};  ///< where no name is given
  /// What the block works on: they choose the graph, which becomes the default one.
  std::optional<std::vector<Tensor>> values{};
};

/// An open device scope; ends with the guard.
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

/// An open colocation scope; ends with the guard.
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

/// An open block of control dependencies; ends with the guard.
class [[nodiscard]] ControlDependencies {
 public:
  ControlDependencies(Graph& graph, std::optional<std::vector<Node*>> inputs, Site site = {});
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  Graph& graph_;
  std::vector<ControlLevel> outer_;
  bool cleared_;
};

/// Says which part of the program the nodes made while the guard lives belong to.
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

/// Where variables are made: without control dependencies, and where an open colocation hides the
/// device scopes around it and there are none inside, with those that stood when the innermost
/// variable scope or InitScope was opened, or at the root. (init_scope)
class [[nodiscard]] InitScope {
 public:
  explicit InitScope(Graph& graph);
  ~InitScope();
  InitScope(const InitScope&) = delete;
  InitScope& operator=(const InitScope&) = delete;

 private:
  Graph& graph_;
  std::vector<DeviceLevel> devices_;  ///< hidden by those that were brought back
  bool brought_back_ = false;
  ControlDependencies outside_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Prefixes the names of the nodes made while the guard lives: unique within the outer scope, taken
/// as it stands when it ends with '/', the root when it is empty or absent. (tf.name_scope)
/// Throws ValueError for a name that no node may have, and where `values` are given but no name.
NameScope name_scope(std::optional<std::string> name, NameScopeOptions options = {},
                     Site site = Site::current());

/// Asks for a device for the nodes made while the guard lives; inner scopes take precedence part by
/// part, `nullopt` forgets the outer ones. (tf.device) Throws ValueError for an unknown spelling.
DeviceScope device(const std::string& spec, Site site = Site::current());
inline DeviceScope device(const char* spec, Site site = Site::current()) {
  return device(std::string(spec), site);
}
DeviceScope device(std::nullopt_t, Site site = Site::current());
DeviceScope device(DeviceFunction function, Site site = Site::current());

/// What a device scope of this spelling or function holds.
DeviceLevel device_level(const DeviceOrFunction& device, Site site);

/// The graph that all of these belong to, the default one where there are none. Throws ValueError
/// naming two that differ.
Graph& graph_of(const std::vector<Tensor>& values, Site site);

/// Places the nodes made while the guard lives beside `op`, whatever device scopes are open.
/// (tf.colocate_with)
ColocationScope colocate_with(const Operation& op, bool ignore_existing = false,
                              Site site = Site::current());
/// Forgets the outer colocation scopes, and devices. Throws ValueError without `ignore_existing`.
ColocationScope colocate_with(std::nullopt_t, bool ignore_existing, Site site = Site::current());

/// The nodes made while the guard lives run after all of `inputs`. (tf.control_dependencies)
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
/// Forgets the outer blocks.
ControlDependencies control_dependencies(std::nullopt_t, Site site = Site::current());

/// Runs `body(scope)` while `scope` is open and returns what it returns:
/// `auto y = tf::with(tf::variable_scope("conv1"), [&](auto& scope) { ...; return y; });`
template <class Scope, class Body>
auto with(Scope&& scope, Body&& body) {
  return body(scope);
}

/// Adds to the collection `key` of the default graph. (tf.add_to_collection)
template <class T>
void add_to_collection(const std::string& key, const T& object) {
  get_default_graph().collections().add(key, CollectionItem::of(object));
}

/// Adds to each of several collections once, however often it is named. (tf.add_to_collections)
template <class T>
void add_to_collections(const std::set<std::string>& keys, const T& object) {
  for (const std::string& key : keys) add_to_collection(key, object);
}

/// The entries under `key` of the default graph themselves, made when there are none: what is added
/// or removed here is so for everybody. (tf.get_collection_ref)
inline std::vector<CollectionItem>& get_collection_ref(const std::string& key) {
  return get_default_graph().collections().ref(key);
}

/// What is in the collection `key` of the default graph, in order, with duplicates; filtered by
/// `scope` as TensorFlow does: names that match it at their start. (tf.get_collection)
/// Throws TypeError naming an entry that is not a T. A Fetch stands for tensors, variables and
/// operations alike.
template <class T = Tensor>
Collected<T> get_collection(const std::string& key,
                            const std::optional<std::string>& scope = std::nullopt) {
  return get_default_graph().collections().get<T>(key, scope);
}

}  // namespace towerflow
