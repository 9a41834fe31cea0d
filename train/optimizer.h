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

/// A variable and what a loss says about it; an absent gradient is an empty optional.
struct GradAndVar {
  OptionalGradient grad;
  Variable var;
};

}  // namespace towerflow::types

namespace towerflow::train::types {

/// When the gradients of one call may be used: each as soon as it is there, after the other inputs'
/// gradients of its op, or after all of them. Runs here are in tape order and deterministic, so the
/// three give the same numbers; they make TensorFlow's nodes.
enum GateGradients { GATE_NONE = 0, GATE_OP = 1, GATE_GRAPH = 2 };

struct ComputeGradientsOptions {
  /// The variables to differentiate with respect to; all trainable ones when not given.
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
/// A subclass says which slots a variable has and which op updates it; slots are variables named
/// after the variable and the optimizer, `conv1/weights/Momentum`. An optimizer may be used in
/// several graphs, where it keeps slots of their own.
class Optimizer {
 public:
  Optimizer(std::string name, bool use_locking);
  virtual ~Optimizer();

  /// One pair per variable of `var_list`, in its order; the gradient is absent where the loss does
  /// not depend on the variable. A variable that stands twice gets two pairs, and a warning.
  /// Throws ValueError without variables (saying which filter found none), for a loss that is not
  /// floating and for a variable of another graph.
  std::vector<GradAndVar> compute_gradients(const Tensor& loss,
                                            ComputeGradientsOptions options = {},
                                            Site site = Site::current());

  /// Appends the update of each variable that has a gradient; one without, and its slots, stay as
  /// they are. A variable that stands twice is updated twice, with a warning.
  /// Throws ValueError when no gradient is present at all; `minimize` says why.
  Operation apply_gradients(const std::vector<GradAndVar>& grads_and_vars,
                            ApplyGradientsOptions options = {}, Site site = Site::current());

  /// compute_gradients, then apply_gradients.
  Operation minimize(const Tensor& loss, MinimizeOptions options = {}, Site site = Site::current());

  const std::string& get_name() const { return name_; }
  /// The slot of a variable, when it exists. (get_slot)
  std::optional<Variable> get_slot(const Variable& variable, const std::string& name) const;
  std::vector<std::string> get_slot_names() const;
  /// What the optimizer keeps in the default graph, sorted by name. (variables)
  std::vector<Variable> variables() const;

  /// In a variable scope that reuses, slots are found where they exist, as in TensorFlow, and made
  /// where they do not. With `strict` they are not made: `apply_gradients` fails as it does there.
  void set_strict_slots(bool strict) { strict_slots_ = strict; }

 protected:
  virtual void create_slots(const std::vector<Variable>& variables, Site site) = 0;
  /// Converts hyper-parameters, inside the optimizer's name scope.
  virtual void prepare(Graph& graph, Site site) = 0;
  virtual Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) = 0;
  virtual Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                                 Site site) = 0;

  /// What the updates end in, an operation called `name`: their group, unless a subclass has more
  /// to do when all of them have run.
  virtual Operation finish(const std::vector<Operation>& updates, const std::string& name,
                           Site site);

  /// Makes a slot beside `variable`, called after it and the optimizer, or finds it.
  Variable slot(const Variable& variable, const std::string& slot_name, Initializer initializer,
                Site site);
  Variable zeros_slot(const Variable& variable, const std::string& slot_name, Site site);
  /// Makes a variable that belongs to the optimizer alone, beside `beside`, or finds it.
  Variable non_slot_variable(const std::string& name, const Operand& initial_value,
                             const Variable& beside, Site site);
  bool use_locking() const { return use_locking_; }

 private:
  using Key = std::pair<std::uint64_t, std::string>;  // a graph's uid, the name of a variable there

  std::string name_;
  bool use_locking_;
  bool strict_slots_ = false;
  std::map<std::string, std::map<Key, Variable>> slots_;  // slot -> variable -> slot
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
  Tensor rate_, factor_;
};

}  // namespace towerflow::train::types
