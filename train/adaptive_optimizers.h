#pragma once

#include "train/optimizer.h"

namespace towerflow::train::types {

struct AdamOptions {
  ByName by_name = ByName();
  Operand beta1 = 0.9;
  Operand beta2 = 0.999;
  Operand epsilon = 1e-8;
  bool use_locking = false;
  std::string name = "Adam";
};

/// The Adam optimizer, with bias-corrected moving averages of the gradient (`m`) and its square
/// (`v`): variable -= rate * m / (sqrt(v) + epsilon). Kingma and Ba 2015, with epsilon as in the
/// formula just before section 2.1. (tf.train.AdamOptimizer)
///
/// Sparse gradients are not applied lazily: `m` and `v` of every row decay, and every row is
/// updated.
class AdamOptimizer final : public Optimizer {
 public:
  explicit AdamOptimizer(ScalarOperand learning_rate = 0.001, AdamOptions options = {});
  explicit AdamOptimizer(AdamOptions options, Site site = Site::current())
      : AdamOptimizer(ScalarOperand(0.001, site), std::move(options)) {}

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;
  Operation finish(const std::vector<Operation>& updates, const std::string& name,
                   Site site) override;
  std::vector<Variable> slots_of(const Variable& variable) const;
  std::vector<Tensor> scalars(DType dtype, Site site) const;

  Operand learning_rate_;
  AdamOptions options_;
  Variable beta1_power_, beta2_power_;
  Tensor rate_, beta1_, beta2_, epsilon_;
};

struct RMSPropOptions {
  Operand decay = 0.9;
  Operand momentum = 0.0;
  Operand epsilon = 1e-10;
  bool use_locking = false;
  bool centered = false;
  std::string name = "RMSProp";
};

/// The RMSProp optimizer: divides the gradient by the root of a moving average of its square
/// (`rms`, which starts at 1), with momentum: Hinton 2012. `centered` uses the variance instead of
/// the mean square: Graves 2013. (tf.train.RMSPropOptimizer)
///
/// Sparse gradients update only the rows they name.
class RMSPropOptimizer final : public Optimizer {
 public:
  explicit RMSPropOptimizer(ScalarOperand learning_rate, RMSPropOptions options = {});

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;
  std::vector<Variable> slots_of(const Variable& variable) const;
  std::vector<Tensor> scalars(DType dtype, Site site) const;

  Operand learning_rate_;
  RMSPropOptions options_;
  Tensor rate_, decay_, momentum_, epsilon_;
};

struct AdagradOptions {
  double initial_accumulator_value = 0.1;
  bool use_locking = false;
  std::string name = "Adagrad";
};

/// The Adagrad optimizer: divides the gradient by the root of the accumulated sum of its squares.
/// Duchi, Hazan and Singer 2011. (tf.train.AdagradOptimizer)
///
/// Sparse gradients update only the rows they name. Throws ValueError unless
/// initial_accumulator_value is positive.
class AdagradOptimizer final : public Optimizer {
 public:
  explicit AdagradOptimizer(ScalarOperand learning_rate, AdagradOptions options = {},
                            Site site = Site::current());

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;

  Operand learning_rate_;
  AdagradOptions options_;
  Tensor rate_;
};

struct AdadeltaOptions {
  ByName by_name = ByName();
  Operand rho = 0.95;
  Operand epsilon = 1e-8;
  bool use_locking = false;
  std::string name = "Adadelta";
};

/// The Adadelta optimizer: scales the gradient by the root of a moving average of the squares of
/// earlier steps (`accum_update`), divided by that of the squares of gradients (`accum`). Zeiler
/// 2012, where the rate is 1. (tf.train.AdadeltaOptimizer)
///
/// Sparse gradients update only the rows they name.
class AdadeltaOptimizer final : public Optimizer {
 public:
  explicit AdadeltaOptimizer(ScalarOperand learning_rate = 0.001, AdadeltaOptions options = {});
  explicit AdadeltaOptimizer(AdadeltaOptions options, Site site = Site::current())
      : AdadeltaOptimizer(ScalarOperand(0.001, site), std::move(options)) {}

 private:
  void create_slots(const std::vector<Variable>& variables, Site site) override;
  void prepare(Graph& graph, Site site) override;
  Operation apply_dense(const Tensor& gradient, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices& gradient, const Variable& variable,
                         Site site) override;

  Operand learning_rate_;
  AdadeltaOptions options_;
  Tensor rate_, rho_, epsilon_;
};

}  // namespace towerflow::train::types
