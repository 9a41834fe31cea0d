#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodiff/gradients.h"
#include "core/graph/collections.h"
#include "core/graph/operand.h"
#include "ops/variables/variable.h"

namespace towerflow::types {

/// A variable and its gradient, which is an empty optional if absent.
struct GradAndVar {
  OptionalGradient grad;
  Variable var;
};

}  // namespace towerflow::types

namespace towerflow {

/// Pairs gradients and variables, such as those that `clip_by_global_norm` got, for
/// `apply_gradients`. (Python's zip) Throws ValueError for lists of different lengths.
std::vector<GradAndVar> zip(const std::vector<OptionalGradient>& gradients,
                            const std::vector<Variable>& variables, Site site = Site::current());

}  // namespace towerflow

namespace towerflow::train::types {

/// When gradients may be used: each as soon as it is computed, after the gradients of all inputs of
/// its op, or after all gradients of the call. Execution here is in tape order and deterministic,
/// so all three give the same numbers; they only decide which of TensorFlow's nodes are added.
enum GateGradients { GATE_NONE = 0, GATE_OP = 1, GATE_GRAPH = 2 };

struct ComputeGradientsOptions {
  /// The variables to differentiate with respect to; by default all trainable ones.
  OptionalVariables var_list{};
  int gate_gradients = GATE_OP;
  AggregationMethod aggregation_method = AggregationMethod::DEFAULT;
  bool colocate_gradients_with_ops = false;
  OptionalGradient grad_loss{};
};

struct ApplyGradientsOptions {
  std::optional<Variable> global_step{};  ///< incremented after the update
  std::string name{};
};

struct MinimizeOptions {
  std::optional<Variable> global_step{};
  OptionalVariables var_list{};
  int gate_gradients = GATE_OP;
  AggregationMethod aggregation_method = AggregationMethod::DEFAULT;
  bool colocate_gradients_with_ops = false;
  std::string name{};
  OptionalGradient grad_loss{};
};

/// Computes gradients and applies them. (tf.train.Optimizer)
///
/// A subclass defines the slots of a variable and the op that updates it. Slots are variables named
/// after the variable and the optimizer, such as `conv1/weights/Momentum`. An optimizer used in
/// several graphs has separate slots in each.
class Optimizer {
 public:
  Optimizer(std::string name, bool use_locking);
  virtual ~Optimizer();

  /// Returns one pair per variable of `var_list`, in its order; the gradient is absent if the loss
  /// does not depend on the variable. A variable listed twice gets two pairs, with a warning. In a
  /// GradientScope, stand-ins count for their variables, and its `computed` changes the pairs.
  /// Throws ValueError if there are no variables (naming the filter that found none), if the loss
  /// is not floating or if a variable is in another graph.
  std::vector<GradAndVar> compute_gradients(const Tensor& loss,
                                            ComputeGradientsOptions options = {},
                                            Site site = Site::current());

  /// Adds the update of each variable that has a gradient; variables without one, and their slots,
  /// stay unchanged. A variable listed twice is updated twice, with a warning. In a scope of
  /// `transform_gradients`, what its function returns is applied.
  /// Throws ValueError if all gradients are absent; `minimize` also gives the reasons.
  Operation apply_gradients(const std::vector<GradAndVar>& grads_and_vars,
                            ApplyGradientsOptions options = {}, Site site = Site::current());

  /// Calls compute_gradients, then apply_gradients.
  Operation minimize(const Tensor& loss, MinimizeOptions options = {}, Site site = Site::current());

  const std::string& get_name() const { return name_; }
  /// Returns the slot of a variable, if it exists. (get_slot)
  virtual std::optional<Variable> get_slot(const Variable& variable, const std::string& name) const;
  virtual std::vector<std::string> get_slot_names() const;
  /// Returns the optimizer's variables in the default graph, sorted by name. (variables)
  virtual std::vector<Variable> variables() const;

  /// Sets whether `apply_gradients` fails, as in TensorFlow, if a slot is missing in a variable
  /// scope with reuse. By default it is created. Existing slots are used in either case.
  virtual void set_strict_slots(bool strict) { strict_slots_ = strict; }

 protected:
  /// Computes the gradients for `compute_gradients`, which then lets the open scopes change them.
  virtual std::vector<GradAndVar> compute(const Tensor& loss,
                                          const ComputeGradientsOptions& options, Site site);
  /// Adds the updates for `apply_gradients`, whose gradients have been through the open scopes. At
  /// least one is present.
  virtual Operation apply(const std::vector<GradAndVar>& grads_and_vars,
                          const ApplyGradientsOptions& options, Site site);
  /// The two for an optimizer that wraps another.
  static std::vector<GradAndVar> compute_with(Optimizer& wrapped, const Tensor& loss,
                                              const ComputeGradientsOptions& options, Site site) {
    return wrapped.compute(loss, options, site);
  }
  static Operation apply_with(Optimizer& wrapped, const std::vector<GradAndVar>& grads_and_vars,
                              const ApplyGradientsOptions& options, Site site) {
    return wrapped.apply(grads_and_vars, options, site);
  }

  virtual void create_slots(const std::vector<Variable>& variables, Site site) = 0;
  /// Converts hyperparameters to tensors, inside the optimizer's name scope.
  virtual void prepare(Graph& graph, Site site) = 0;
  virtual Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) = 0;
  virtual Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                 Site site) = 0;

  /// Returns the operation `name` that completes the updates: by default their group. Subclasses
  /// may add work that runs after all of them.
  virtual Operation finish(const std::vector<Operation>& updates, const std::string& name,
                           Site site);

  /// Creates or finds a slot that is colocated with `variable` and named after it and the
  /// optimizer, or after `op_name` if that is not empty.
  Variable slot(const Variable& variable, const std::string& slot_name, Initializer initializer,
                Site site, const std::string& op_name = "");
  Variable zeros_slot(const Variable& variable, const std::string& slot_name, Site site,
                      const std::string& op_name = "");
  /// Creates or finds a variable that belongs only to the optimizer, colocated with `beside`.
  Variable non_slot_variable(const std::string& name, const Operand& initial_value,
                             const Variable& beside, Site site);
  /// Casts hyperparameters to a variable's dtype, in their order.
  static std::vector<Tensor> cast_all(const std::vector<Tensor>& tensors, DType dtype, Site site);
  bool use_locking() const { return use_locking_; }

 private:
  using Key = std::pair<std::uint64_t, std::string>;  // uid of a graph, name of a variable in it

  std::string name_;
  bool use_locking_;
  bool strict_slots_ = false;
  std::map<std::string, std::map<Key, Variable>> slots_;  // by slot name, then by variable
  std::map<Key, Variable> non_slots_;
};

struct GradientDescentOptions {
  bool use_locking = false;
  std::string name = "GradientDescent";
};

/// variable -= rate * gradient. (tf.train.GradientDescentOptimizer)
class GradientDescentOptimizer final : public Optimizer {
 public:
  explicit GradientDescentOptimizer(ScalarOperand learning_rate,
                                    GradientDescentOptions options = {});

 private:
  void create_slots(const std::vector<Variable>&, Site) override {}
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;

  Operand learning_rate_;
  Tensor rate_;
};

struct MomentumOptions {
  bool use_locking = false;
  std::string name = "Momentum";
  bool use_nesterov = false;
};

/// slot = momentum * slot + gradient; variable -= rate * slot. (tf.train.MomentumOptimizer)
///
/// With Nesterov, variable -= rate * (gradient + momentum * slot): Sutskever et al. 2013.
class MomentumOptimizer final : public Optimizer {
 public:
  MomentumOptimizer(ScalarOperand learning_rate, ScalarOperand momentum,
                    MomentumOptions options = {});

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;

  Operand learning_rate_, momentum_;
  bool use_nesterov_;
  Tensor rate_, momentum_tensor_;
};

}  // namespace towerflow::train::types
