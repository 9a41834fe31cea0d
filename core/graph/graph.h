#pragma once

#include <any>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/collections.h"
#include "core/graph/describe.h"
#include "core/graph/name_table.h"
#include "core/graph/node.h"
#include "core/graph/scope_state.h"

namespace towerflow {

class GraphSnapshot;
struct GraphMutex;

}  // namespace towerflow

namespace towerflow::types {

class DefaultGraphGuard;
class GradientOverrideScope;
class UnpublishedNodes;

/// What a new node is made of; the graph adds its name, devices, control inputs and shapes.
struct NodeSpec {
  std::string op;    ///< a registered op
  std::string name;  ///< made unique; taken as it stands when it ends with '/'
  std::vector<Tensor> inputs{};
  std::vector<Node*> control_inputs{};  ///< besides those of the open control_dependencies
  Attrs attrs{};
  Site site{};
};

struct GraphDef;

struct AsGraphDefOptions {
  bool add_shapes = false;  ///< attribute `_output_shapes`
  /// The nodes as the graph has them, to be looked at and not to be imported: ops that do not list
  /// their arguments lack attributes, and those that TensorFlow lacks are not written as its own.
  bool to_look_at = false;
};

/// A program on tape: nodes in the order of their creation, names, collections.
///
/// Handles (Tensor, Operation, Variable) point into the graph and are valid as long as it is. One
/// thread at a time may add nodes; sessions may run at the same time.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Makes this the graph that calls on this thread add to, until the guard ends.
  [[nodiscard]] DefaultGraphGuard as_default();

  /// Ops made while the guard lives take their gradient from another name: one given to
  /// `RegisterGradient`, or another op's type. The name is looked up when a gradient is asked for.
  /// (tf.Graph.gradient_override_map)
  [[nodiscard]] GradientOverrideScope gradient_override_map(
      const std::map<std::string, std::string>& op_type_map);

  /// Appends a node. Throws ValueError or TypeError of the op's shape rule, with node and site.
  Operation add(NodeSpec spec);

  /// The name that the next node called `name` gets in the current name scope, "a/w_1".
  /// (tf.Graph.unique_name)
  std::string unique_name(const std::string& name, bool mark_as_used = true);
  bool name_in_use(const std::string& full_name) const;
  /// The open name scope without its trailing '/', "" at the root. (tf.Graph.get_name_scope)
  const std::string& get_name_scope() { return scopes().name; }

  std::size_t size() const;
  /// How many of them sessions may look at: not those of a trial, nor one whose device is still
  /// being asked for.
  std::size_t published() const;
  Operation operation(std::size_t id) const;
  std::vector<Operation> get_operations() const;
  /// Throws KeyError with the nearest name, ValueError for a tensor's name.
  Operation get_operation_by_name(const std::string& name, Site site = Site::current()) const;
  /// All nodes with all attributes; for an op that TensorFlow lacks the nodes that compute the same
  /// there, which become one again when they are imported. Throws UnimplementedError for an op that
  /// does not list its arguments. (tf.Graph.as_graph_def)
  GraphDef as_graph_def(AsGraphDefOptions options = {}) const;
  /// "name:index"; throws ValueError for another form, KeyError when it does not exist.
  Tensor get_tensor_by_name(const std::string& name, Site site = Site::current()) const;
  /// The node of that name among those that sessions may look at; nullptr when there is none.
  const Node* find_published(const std::string& name) const;

  Collections& collections() { return collections_; }
  const Collections& collections() const { return collections_; }

  /// The graph-level random seed. (tf.set_random_seed)
  std::optional<std::int64_t> seed;
  /// The default op seed: how many ops have drawn one so far.
  std::int64_t next_op_seed = 0;

  /// No more nodes may be added; a later call raises RuntimeError. (tf.Graph.finalize)
  void finalize() { finalized_ = true; }
  bool finalized() const { return finalized_; }

  /// Every operation with its scopes, device, collections and the line that made it.
  GraphDescription describe() const;
  /// Notes that a variable was found at `site`; only the first time counts.
  void note_reuse(const Node& variable, Site site);
  std::optional<Site> first_reuse(const Node& variable) const;

  /// A copy of `text` that lives as long as the graph; equal texts share it.
  const std::string* interned(const std::string& text);

  /// This thread's open scopes in this graph.
  ScopeState& scopes();

  /// Data that a part above keeps with the graph, made on first use: variable stores, say.
  template <class T>
  T& extension() {
    std::any& slot = extensions_[std::type_index(typeid(T))];
    if (!slot.has_value()) slot = std::make_shared<T>();
    return *std::any_cast<std::shared_ptr<T>&>(slot);
  }

  std::uint64_t uid() const { return uid_; }

  /// Held while nodes are added and while shapes are refined: by sessions, which run on other
  /// threads, while they read shapes.
  GraphMutex& mutex() const { return *mutex_; }

 private:
  friend class towerflow::GraphSnapshot;
  friend class UnpublishedNodes;

  std::string node_name(const std::string& name, Site site);
  void infer(Node& node) const;
  Node* find(const std::string& name) const;  // nullptr where no node has it
  std::string nearest_operation(const std::string& name) const;

  const std::uint64_t uid_;
  const std::shared_ptr<const int> alive_;   // ends with the graph
  const std::unique_ptr<GraphMutex> mutex_;  // guards the next four, which sessions read
  std::deque<Node> nodes_;
  NameTable names_;
  std::size_t published_ = 0;
  int unpublished_scopes_ = 0;  // how many UnpublishedNodes there are
  Collections collections_;
  std::unordered_map<std::type_index, std::any> extensions_;
  std::set<std::string> texts_;
  std::unordered_map<const Node*, Site> first_reuse_;
  bool finalized_ = false;
};

/// Restores the former default graph when it ends.
class [[nodiscard]] DefaultGraphGuard {
 public:
  explicit DefaultGraphGuard(Graph& graph);
  ~DefaultGraphGuard();
  DefaultGraphGuard(const DefaultGraphGuard&) = delete;
  DefaultGraphGuard& operator=(const DefaultGraphGuard&) = delete;

 private:
  Graph* graph_;
};

/// Restores the former gradient names when it ends.
class [[nodiscard]] GradientOverrideScope {
 public:
  GradientOverrideScope(Graph& graph, const std::map<std::string, std::string>& op_type_map);
  ~GradientOverrideScope();
  GradientOverrideScope(const GradientOverrideScope&) = delete;
  GradientOverrideScope& operator=(const GradientOverrideScope&) = delete;

 private:
  Graph& graph_;
  std::map<std::string, std::string> before_;
};

/// What is added while this lives is published when it ends.
class [[nodiscard]] UnpublishedNodes {
 public:
  explicit UnpublishedNodes(Graph& graph);
  ~UnpublishedNodes();
  UnpublishedNodes(const UnpublishedNodes&) = delete;
  UnpublishedNodes& operator=(const UnpublishedNodes&) = delete;

 private:
  Graph& graph_;
};

}  // namespace towerflow::types

namespace towerflow {

/// The graph calls on this thread add to. (tf.get_default_graph)
Graph& get_default_graph();
/// Drops this thread's global default graph; throws RuntimeError inside an `as_default`.
void reset_default_graph();

/// The value of a tensor that is known without running the graph; an empty Array otherwise.
/// (tensor_util.constant_value)
Array constant_value(const Tensor& tensor);

}  // namespace towerflow
