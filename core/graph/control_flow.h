#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/tensor.h"

namespace towerflow::types {

class WhileContext;

/// A part of a graph that runs under a condition, a branch of tf.cond, or repeatedly, a
/// tf.while_loop. Nodes added while it is open belong to it: a tensor from outside enters it
/// through a node of its own, once, and a node without inputs waits for the pivot of the context.
/// (control_flow_ops.ControlFlowContext)
class ControlFlowContext {
 public:
  ControlFlowContext(Graph& graph, std::string name);
  virtual ~ControlFlowContext();
  ControlFlowContext(const ControlFlowContext&) = delete;
  ControlFlowContext& operator=(const ControlFlowContext&) = delete;

  Graph& graph() const { return graph_; }
  const std::string& name() const { return name_; }
  /// Returns the context in which this one was made, nullptr at the root.
  ControlFlowContext* outer() const { return outer_; }
  /// Returns the innermost loop that is or contains this context, nullptr if there is none.
  WhileContext* while_context();
  virtual bool is_while() const { return false; }
  /// Returns the node whose execution shows that the context runs, nullptr before it exists.
  virtual Node* control_pivot() const = 0;

  /// Returns the tensor that stands for `value` in this context, made if there is none yet.
  virtual Tensor add_value(const Tensor& value) = 0;
  /// Replaces the inputs of a node that is about to be added by those of this context, and its
  /// control inputs by those that may be awaited here.
  virtual void adopt(Node& node) = 0;
  /// Notes that a node has been added to this context.
  virtual void added(Node& node) = 0;

  /// Makes a tensor known here, which then needs no node to enter.
  void add_known(const Tensor& value) { values_.insert(key(value)); }
  void add_known(const Node& node);
  /// Makes results of this context known in the outer one.
  void exit_result(const std::vector<Tensor>& results);
  /// Forgets what it knows of nodes from `id` on, which are about to be removed from the graph.
  virtual void forget_nodes_from(int id);
  bool knows(const Tensor& value) const { return values_.contains(key(value)); }

 protected:
  using Key = std::pair<const Node*, int>;
  static Key key(const Tensor& tensor);
  /// Returns the tensor that stands for a known value here: `value` itself unless it is external.
  Tensor known(const Tensor& value) const;
  /// Removes control inputs on nodes outside the innermost loop and returns them.
  std::vector<Node*> remove_external_control(Node& node);

  std::set<Key> values_;             ///< tensors that may be read here
  std::map<Key, Tensor> externals_;  ///< outside tensors and what stands for them here

 private:
  Graph& graph_;
  std::string name_;
  ControlFlowContext* outer_;
};

/// One branch of a tf.cond.
class CondContext final : public ControlFlowContext {
 public:
  CondContext(Graph& graph, Tensor pred, Tensor pivot, int branch);

  const Tensor& pred() const { return pred_; }
  const Tensor& pivot() const { return pivot_; }
  int branch() const { return branch_; }
  Node* control_pivot() const override { return &pivot_.node(); }
  Tensor add_value(const Tensor& value) override;
  void adopt(Node& node) override;
  void added(Node& node) override;
  /// Returns the tensor that a result of the branch gives to the Merge: for a tensor from outside,
  /// a Switch of it.
  Tensor result(const Tensor& value, Site site);

 private:
  Tensor pred_, pivot_;
  int branch_;
};

struct WhileContextOptions {
  int parallel_iterations = 10;
  bool back_prop = true;
  bool swap_memory = false;
  Tensor maximum_iterations{};  ///< optional
  std::string name = "while_context";
};

/// A tf.while_loop, or the loop of its gradients.
class WhileContext final : public ControlFlowContext {
 public:
  WhileContext(Graph& graph, WhileContextOptions options);

  /// Properties of a loop of gradients, which reads the values that the forward loop has kept.
  struct GradientLoop {
    WhileContext* forward = nullptr;
    std::function<Tensor(const Tensor&)> real_value;  ///< of a value of the forward loop
  };

  bool is_while() const override { return true; }
  Node* control_pivot() const override;
  Tensor add_value(const Tensor& value) override;
  void adopt(Node& node) override;
  void added(Node& node) override;
  void forget_nodes_from(int id) override;

  const WhileContextOptions& options() const { return options_; }
  const GradientLoop& gradient_loop() const { return gradient_loop_; }
  void set_gradient_loop(GradientLoop loop) { gradient_loop_ = std::move(loop); }

  /// Adds an Enter node of this loop.
  Tensor enter(const Tensor& value, bool is_constant, const std::string& name, Site site,
               bool use_input_shape = true);
  /// Makes Enter nodes part of this context, waiting for the control inputs that are open around
  /// the loop.
  void fix_control_inputs(const std::vector<Tensor>& enters);
  /// Forgets all known values but these.
  void initialize_values(const std::vector<Tensor>& values);

  Tensor pivot{};           ///< the result of the LoopCond
  Tensor pivot_for_pred{};  ///< the first Merge
  Tensor pivot_for_body{};  ///< the first Identity of the body
  std::vector<Tensor> enters{}, exits{};

 private:
  WhileContextOptions options_;
  GradientLoop gradient_loop_;
};

/// Opens a context, or closes all with nullptr, while the guard lives.
class [[nodiscard]] ContextScope {
 public:
  ContextScope(Graph& graph, ControlFlowContext* context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Graph& graph_;
  ControlFlowContext* before_;
};

/// Collections hold contexts as pointers.
inline std::string collection_name(const ControlFlowContext* context) { return context->name(); }

}  // namespace towerflow::types

namespace towerflow {

bool is_switch(const Node& node);      ///< Switch or RefSwitch
bool is_merge(const Node& node);       ///< Merge or RefMerge
bool is_loop_enter(const Node& node);  ///< Enter or RefEnter
bool is_loop_exit(const Node& node);   ///< Exit or RefExit
bool is_next_iteration(const Node& node);
/// Returns whether a node is the Enter of a loop invariant.
bool is_loop_constant_enter(const Node& node);
/// Returns whether a node is the Switch of a loop rather than of a cond in a loop.
bool is_loop_switch(const Node& node);

/// Returns the context in which the outputs of a node are: for an Exit, the one around the loop.
ControlFlowContext* output_context(const Node& node);
/// Returns the innermost loop around a node, for an Exit its own; nullptr if there is none.
WhileContext* while_context_of(const Node& node);
/// Returns whether `outer` is `context` or contains it; nullptr is the root, which contains all.
bool is_containing_context(const ControlFlowContext* context, const ControlFlowContext* outer);
/// Returns the context that a new node belongs to while `open` is open: `open` itself, unless a
/// loop of gradients asks for the shape of a value of the forward loop, which is taken there.
ControlFlowContext* context_for(const Node& node, ControlFlowContext* open);
/// Throws ValueError if a node reads a tensor of a loop that it is not in.
void check_input_context(const Node& node, const Node& input);

/// Adds a Switch, or a RefSwitch for a variable's storage, beside `data`; returns its outputs for
/// false and true. (control_flow_ops._SwitchRefOrTensor)
std::pair<Tensor, Tensor> switch_beside(const Tensor& data, const Tensor& pred, Site site,
                                        const std::string& name = "Switch");

}  // namespace towerflow
