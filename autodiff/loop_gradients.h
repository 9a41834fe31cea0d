#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/graph/control_flow.h"
#include "core/graph/gradient.h"

namespace towerflow {

/// The loop of the gradients of one loop, and what the forward loop keeps for it: values that the
/// gradients read are pushed on a stack in each iteration, and popped in the reverse order.
/// (control_flow_state._GradLoopState)
class GradientLoopState {
 public:
  /// Adds a counter to the forward loop and makes the loop of the gradients, which counts down.
  GradientLoopState(WhileContext& forward, GradientLoopState* outer, ControlFlowContext* caller,
                    Site site);

  WhileContext& forward() const { return forward_; }
  WhileContext& backward() const { return *backward_; }
  GradientLoopState* outer() const { return outer_; }

  /// Adds a stack to which the forward loop pushes the value of an iteration; returns the stack.
  Tensor add_forward_accumulator(const Tensor& value, bool dead_branch = false);
  /// Returns the value that the loop of the gradients pops from such a stack.
  Tensor add_backprop_value(Tensor history, const Tensor& value, bool dead_branch = false);
  /// Returns what stands for a value of the forward loop in the loop of the gradients: an invariant
  /// or a constant as it is, any other value from a stack.
  Tensor real_value(const Tensor& value);
  /// Returns the value of a condition of the forward loop in the loop of the gradients.
  Tensor condition_in_backprop(const Tensor& pred);
  /// Returns the condition if it has been asked for.
  const Tensor* known_condition(const Tensor& pred) const;
  /// Adds up the gradients of a loop invariant over the iterations; `enter` is its Enter.
  Tensor add_accumulator(const Operation& enter, const Tensor& dy);

  std::map<const Node*, Tensor> switches;  ///< Switch of the forward loop -> Merge of its gradient
  std::vector<Tensor> forward_exits, unused_exits, deferred_exits;
  std::size_t pending_exits = 0;  ///< exits that may still receive a gradient

 private:
  using Key = std::pair<const Node*, int>;

  Tensor count_forward();
  void count_backward(const Tensor& count);
  Operation forward_sync();
  Operation backward_sync();

  Graph& graph_;
  WhileContext& forward_;
  WhileContext* backward_ = nullptr;
  GradientLoopState* outer_;
  ControlFlowContext* caller_;  ///< the context in which the gradients were asked for
  Site site_;
  Tensor forward_index_, backward_index_;  ///< NextIterations of the counters
  Operation forward_sync_, backward_sync_;
  std::map<Key, Tensor> history_;
};

/// The loops of the gradients that one call of `gradients` builds. While it exists, the gradients
/// of control flow ops in the graph use it. (control_flow_state._ControlFlowState)
class LoopGradients {
 public:
  LoopGradients(Graph& graph, Site site);
  ~LoopGradients();
  LoopGradients(const LoopGradients&) = delete;
  LoopGradients& operator=(const LoopGradients&) = delete;

  /// Makes the gradient loop of the loop that an Exit leaves. Returns its state if it is new.
  GradientLoopState* add_loop(const Node& exit);
  /// Returns the state of the loop around a node, nullptr if it has none; `before` the node's
  /// gradient is computed, an Exit is outside of its loop.
  GradientLoopState* state_of(const Node& node, bool before) const;
  const std::vector<std::unique_ptr<GradientLoopState>>& loops() const { return loops_; }

  std::vector<OptionalGradient> switch_gradient(const Operation& op,
                                                const std::vector<OptionalGradient>& dys);
  Tensor condition_in_backprop(const Tensor& pred);
  Tensor add_backprop_accumulator(WhileContext& loop, const Operation& enter, const Tensor& dy);
  /// Returns zeros as the gradient of an Exit that received none.
  Tensor zeros_like_exit(const Tensor& exit);
  /// Returns zeros for an output of a Switch that received no gradient.
  Tensor zeros_like_switch(const Operation& op, int output);
  /// Closes gradient loops whose variable does not depend on the iteration before.
  void finish();

 private:
  GradientLoopState* state_of_context(const WhileContext* loop) const;
  GradientLoopState& open_state() const;

  Graph& graph_;
  Site site_;
  ControlFlowContext* caller_;
  LoopGradients* before_;
  std::vector<std::unique_ptr<GradientLoopState>> loops_;
};

/// Adds a Shape node even if the shape is known. (array_ops.shape_internal, optimize=False)
Tensor shape_node(const Tensor& value, Site site);

}  // namespace towerflow
