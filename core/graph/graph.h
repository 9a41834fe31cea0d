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

/// Specification of a node to add; the graph completes its name, device, control inputs and shapes.
struct NodeSpec {
  std::string op;    ///< a registered op
  std::string name;  ///< made unique, or used as is if it ends with '/'
  std::vector<Tensor> inputs{};
  std::vector<Node*> control_inputs{};  ///< in addition to those of the open control_dependencies
  Attrs attrs{};
  Site site{};
};

struct GraphDef;

struct AsGraphDefOptions {
  bool add_shapes = false;  ///< adds the attribute `_output_shapes`
  /// Writes the nodes as the graph has them, for viewing rather than importing: ops that do not
  /// list their arguments lack attributes, and ops that TensorFlow lacks are not replaced by
  /// equivalents.
  bool for_display = false;
};

/// A program recorded on a tape: nodes in order of creation, names and collections.
///
/// Handles (Tensor, Operation, Variable) point into the graph and are valid as long as it is. One
/// thread at a time may add nodes; sessions may run at the same time.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Makes this the default graph of this thread while the guard lives.
  [[nodiscard]] DefaultGraphGuard as_default();

  /// Makes ops of these types that are created while the guard lives use the gradient of another
  /// name: one given to `RegisterGradient`, or another op's type. The name is looked up when
  /// gradients are computed. (tf.Graph.gradient_override_map)
  [[nodiscard]] GradientOverrideScope gradient_override_map(
      const std::map<std::string, std::string>& op_type_map);

  /// Appends a node. Throws RuntimeError if the graph is finalized, and the ValueError or TypeError
  /// of the op's shape rule with node and site added.
  Operation add(NodeSpec spec);

  /// Returns the unique name for a node called `name` in the current name scope, "a/w_1", and marks
  /// it as used if `mark_as_used`. (tf.Graph.unique_name)
  std::string unique_name(const std::string& name, bool mark_as_used = true);
  bool name_in_use(const std::string& full_name) const;
  /// Returns the open name scope without its trailing '/', "" at the root.
  /// (tf.Graph.get_name_scope)
  const std::string& get_name_scope() { return scopes().name; }

  /// Adds a control input to a node that exists. Only the builders of loops and of their gradients
  /// do this.
  void add_control_input(Node& node, Node& awaited);
  /// Replaces an input of a node that exists, the Merge of a loop, by one of the same dtype.
  void set_back_edge(Node& merge, std::size_t input, const Tensor& value);
  /// Keeps a branch or loop as long as the graph.
  template <class T, class... Args>
  T& add_context(Args&&... args) {
    auto made = std::make_unique<T>(*this, std::forward<Args>(args)...);
    T& context = *made;
    contexts_.push_back(std::move(made));
    return context;
  }

  std::size_t size() const;
  /// Returns how many of the nodes sessions may see: not those of a trial, nor one whose device
  /// function is still running.
  std::size_t published() const;
  Operation operation(std::size_t id) const;
  std::vector<Operation> get_operations() const;
  /// Throws KeyError with the nearest names if there is none, ValueError for a tensor's name.
  Operation get_operation_by_name(const std::string& name, Site site = Site::current()) const;
  /// Returns all nodes with all attributes. An op that TensorFlow lacks is written as nodes that
  /// compute the same there, which an import turns back into one. Throws UnimplementedError for an
  /// op that does not list its arguments. (tf.Graph.as_graph_def)
  GraphDef as_graph_def(AsGraphDefOptions options = {}) const;
  /// Returns the tensor "name:index". Throws ValueError for another form, KeyError if it does not
  /// exist.
  Tensor get_tensor_by_name(const std::string& name, Site site = Site::current()) const;
  /// Returns the node with this name if sessions may see it, else nullptr.
  const Node* find_published(const std::string& name) const;

  Collections& collections() { return collections_; }
  const Collections& collections() const { return collections_; }

  /// The graph-level random seed. (tf.set_random_seed)
  std::optional<std::int64_t> seed;
  /// The next default op seed: how many ops have drawn one so far.
  std::int64_t next_op_seed = 0;

  /// Forbids adding nodes: a later attempt throws RuntimeError. (tf.Graph.finalize)
  void finalize() { finalized_ = true; }
  bool finalized() const { return finalized_; }

  /// Describes every operation: its scopes, device, collections and the line that made it.
  GraphDescription describe() const;
  /// Records that a variable was reused at `site`; only the first call for a variable counts.
  void record_reuse(const Node& variable, Site site);
  std::optional<Site> first_reuse(const Node& variable) const;

  /// Returns a copy of `text` that lives as long as the graph; equal texts share one.
  const std::string* intern(const std::string& text);

  /// Returns this thread's open scopes in this graph.
  ScopeState& scopes();

  /// Returns data that a higher layer keeps with the graph, such as variable stores; created on
  /// first use.
  template <class T>
  T& extension() {
    std::any& slot = extensions_[std::type_index(typeid(T))];
    if (!slot.has_value()) slot = std::make_shared<T>();
    return *std::any_cast<std::shared_ptr<T>&>(slot);
  }

  std::uint64_t uid() const { return uid_; }

  /// Held while nodes are added and while shapes are refined, and by sessions on other threads
  /// while they read shapes.
  GraphMutex& mutex() const { return *mutex_; }

 private:
  friend class towerflow::GraphSnapshot;
  friend class UnpublishedNodes;

  std::string node_name(const std::string& name, Site site);
  void infer(Node& node) const;
  Node* find(const std::string& name) const;  // nullptr if there is none
  std::string nearest_operation_hint(const std::string& name) const;

  const std::uint64_t uid_;
  const std::shared_ptr<const int> alive_;   // expires with the graph
  const std::unique_ptr<GraphMutex> mutex_;  // guards the next four, which sessions read
  std::deque<Node> nodes_;
  NameTable names_;
  std::size_t published_ = 0;
  int unpublished_scopes_ = 0;  // number of live UnpublishedNodes
  Collections collections_;
  std::unordered_map<std::type_index, std::any> extensions_;
  std::set<std::string> texts_;
  std::vector<std::unique_ptr<ControlFlowContext>> contexts_;
  std::unordered_map<const Node*, Site> first_reuse_;
  bool finalized_ = false;
};

/// Restores the previous default graph when it ends.
class [[nodiscard]] DefaultGraphGuard {
 public:
  explicit DefaultGraphGuard(Graph& graph);
  ~DefaultGraphGuard();
  DefaultGraphGuard(const DefaultGraphGuard&) = delete;
  DefaultGraphGuard& operator=(const DefaultGraphGuard&) = delete;

 private:
  Graph* graph_;
};

/// Restores the previous gradient overrides when it ends.
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

/// Hides nodes added while it lives from sessions, until the last such guard ends.
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

/// Returns the graph to which calls on this thread add nodes. (tf.get_default_graph)
Graph& get_default_graph();
/// Deletes this thread's global default graph. Throws RuntimeError inside an `as_default` block.
void reset_default_graph();

/// Returns the value of a tensor if it is known without running the graph, else an empty Array.
/// (tensor_util.constant_value)
Array constant_value(const Tensor& tensor);

}  // namespace towerflow
