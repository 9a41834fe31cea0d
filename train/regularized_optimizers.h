#pragma once

#include "train/optimizer.h"

namespace towerflow::train::types {

/// Optimizers whose updates contain an L1 and an L2 penalty: the L1 penalty makes weights exactly
/// zero. Sparse gradients update only the rows they name.

struct AdagradDAOptions {
  double initial_gradient_squared_accumulator_value = 0.1;
  Operand l1_regularization_strength = 0.0;
  Operand l2_regularization_strength = 0.0;
  bool use_locking = false;
  std::string name = "AdagradDA";
};

/// Adagrad with dual averaging: the variable is computed anew from the sum of all gradients
/// (`gradient_accumulator`) and of their squares (`gradient_squared_accumulator`). Duchi, Hazan
/// and Singer 2011. (tf.train.AdagradDAOptimizer)
///
/// `global_step` is an int64 that counts the steps. Throws ValueError unless
/// initial_gradient_squared_accumulator_value is positive, and TypeError from `apply_gradients` if
/// `global_step` is not an int64.
class AdagradDAOptimizer final : public Optimizer {
 public:
  AdagradDAOptimizer(ScalarOperand learning_rate, ScalarOperand global_step,
                     AdagradDAOptions options = {}, Site site = Site::current());

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;
  std::vector<Variable> slots_of(const Variable& variable) const;
  std::vector<Tensor> scalars(const Variable& variable, Site site) const;

  Operand learning_rate_, global_step_;
  AdagradDAOptions options_;
  Tensor rate_, step_;
};

struct FtrlOptions {
  double learning_rate_power = -0.5;  ///< how fast the rate falls; 0 for a constant rate
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  bool use_locking = false;
  std::string name = "Ftrl";
  std::string accum_name{};   ///< names the slot `accum`; `name` if empty
  std::string linear_name{};  ///< names the slot `linear`; `name` if empty
  /// A penalty of the size of the variable, where the L2 penalty above makes it stable.
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;  ///< the paper's parameter: adds beta / (2 * learning_rate) to the L2 penalty
};

/// The FTRL-Proximal optimizer ("follow the regularized leader"): McMahan et al. 2013, with
/// shrinkage as in tf.raw_ops.ApplyFtrlV2. (tf.train.FtrlOptimizer)
///
/// Throws ValueError if learning_rate_power is positive or another number is negative.
class FtrlOptimizer final : public Optimizer {
 public:
  explicit FtrlOptimizer(ScalarOperand learning_rate, FtrlOptions options = {},
                         Site site = Site::current());

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;
  std::vector<Variable> slots_of(const Variable& variable) const;
  std::vector<Tensor> scalars(const Variable& variable, Site site) const;
  bool shrinks() const { return options_.l2_shrinkage_regularization_strength > 0; }

  Operand learning_rate_;
  FtrlOptions options_;
  Tensor rate_, l1_, l2_, shrinkage_, power_;
};

struct ProximalAdagradOptions {
  double initial_accumulator_value = 0.1;
  Operand l1_regularization_strength = 0.0;
  Operand l2_regularization_strength = 0.0;
  bool use_locking = false;
  std::string name = "ProximalAdagrad";
};

/// A step of Adagrad, followed by the proximal step of the penalties. Duchi, Hazan and Singer 2011.
/// (tf.train.ProximalAdagradOptimizer)
///
/// The rate and the penalties must have the dtype of the variable, otherwise `apply_gradients`
/// throws TypeError. Throws ValueError unless initial_accumulator_value is positive.
class ProximalAdagradOptimizer final : public Optimizer {
 public:
  explicit ProximalAdagradOptimizer(ScalarOperand learning_rate,
                                    ProximalAdagradOptions options = {},
                                    Site site = Site::current());

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;

  Operand learning_rate_;
  ProximalAdagradOptions options_;
  std::vector<Tensor> scalars_;
};

struct ProximalGradientDescentOptions {
  Operand l1_regularization_strength = 0.0;
  Operand l2_regularization_strength = 0.0;
  bool use_locking = false;
  std::string name = "ProximalGradientDescent";
};

/// A step of gradient descent, followed by the proximal step of the penalties. Duchi and Singer
/// 2009. (tf.train.ProximalGradientDescentOptimizer)
///
/// The rate and the penalties must have the dtype of the variable, otherwise `apply_gradients`
/// throws TypeError.
class ProximalGradientDescentOptimizer final : public Optimizer {
 public:
  explicit ProximalGradientDescentOptimizer(ScalarOperand learning_rate,
                                            ProximalGradientDescentOptions options = {});

 private:
  void create_slots(const std::vector<Variable>&, Site) override {}
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;

  Operand learning_rate_;
  ProximalGradientDescentOptions options_;
  std::vector<Tensor> scalars_;
};

}  // namespace towerflow::train::types
