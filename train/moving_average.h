#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/operand.h"
#include "ops/variables/variable.h"

namespace towerflow::train::types {

/// An item that has a moving average: a variable, or a tensor such as a loss.
class Averaged {
 public:
  Averaged(Variable variable);  // NOLINT: {w, loss}
  Averaged(Tensor tensor);      // NOLINT

  const std::optional<Variable>& variable() const { return variable_; }
  /// Returns the value of the variable, or the tensor itself.
  Tensor value() const;
  /// Returns the name, such as "w:0" or "tower_0/loss:0".
  std::string name() const { return source().name(); }
  Operation op() const { return source().op(); }
  DType dtype() const { return source().dtype(); }
  const Shape& shape() const { return source().shape(); }

 private:
  Tensor source() const;

  std::optional<Variable> variable_;
  Tensor tensor_;
};

/// A list of variables and tensors, or std::nullopt for all trainable variables.
class AveragedList {
 public:
  AveragedList(std::nullopt_t);                          // NOLINT
  AveragedList(std::initializer_list<Averaged> items);   // NOLINT: {w, loss}
  AveragedList(std::vector<Averaged> items);             // NOLINT
  AveragedList(const std::vector<Variable>& variables);  // NOLINT
  AveragedList(const std::vector<Tensor>& tensors);      // NOLINT

  const std::optional<std::vector<Averaged>>& items() const { return items_; }

 private:
  std::optional<std::vector<Averaged>> items_;
};

struct ExponentialMovingAverageOptions {
  ByName by_name = ByName();
  /// Corrects averages of tensors for their start at zero: section 3 of Kingma and Ba 2015. The
  /// variables `biased` and `local_step` beside an average keep track of it.
  bool zero_debias = false;
  std::string name = "ExponentialMovingAverage";
};

/// Maintains moving averages of variables and tensors in shadow variables:
/// shadow -= (1 - decay) * (shadow - value). (tf.train.ExponentialMovingAverage)
///
/// The shadow of `w` is `w/ExponentialMovingAverage`, on the device of `w`, and starts at its
/// initial value. The shadow of a tensor `tower_0/loss` is `tower_0/loss/ExponentialMovingAverage`
/// and starts at zero. Averaged variables are added to MOVING_AVERAGE_VARIABLES, shadows to
/// GLOBAL_VARIABLES; shadows are not trainable. Each graph in which `apply` is called has its own
/// shadows.
class ExponentialMovingAverage {
 public:
  /// With `num_updates`, a count of steps, the decay is min(decay, (1 + n) / (10 + n)).
  explicit ExponentialMovingAverage(ScalarOperand decay, std::optional<Operand> num_updates = {},
                                    ExponentialMovingAverageOptions options = {});
  ExponentialMovingAverage(ScalarOperand decay, ExponentialMovingAverageOptions options)
      : ExponentialMovingAverage(std::move(decay), std::nullopt, std::move(options)) {}

  const std::string& name() const { return options_.name; }

  /// Returns an operation that updates the shadows; creates the shadows that do not exist yet.
  ///
  /// dtypes   float32, float64
  /// errors   TypeError: another dtype; ValueError: with `set_strict_slots`, a shadow missing in a
  ///          scope with reuse
  Operation apply(const AveragedList& var_list = std::nullopt, Site site = Site::current());

  /// Returns the shadow, if `apply` has created it.
  std::optional<Variable> average(const Averaged& var) const;
  /// Returns the name of the shadow, or the name it would get if created now.
  std::string average_name(const Averaged& var) const;
  /// Returns a map from names in a checkpoint to variables, for a tf::train::Saver that restores
  /// averaged values. Variables with averages (`moving_avg_variables`; by default the trainable
  /// ones and those in MOVING_AVERAGE_VARIABLES) get the shadow's name, all other global variables
  /// their own.
  std::map<std::string, Variable> variables_to_restore(
      const std::optional<std::vector<Variable>>& moving_avg_variables = std::nullopt) const;

  /// Sets whether `apply` fails, as in TensorFlow, if a shadow is missing in a variable scope with
  /// reuse. By default it is created. Existing shadows are used in either case.
  void set_strict_slots(bool strict) { strict_slots_ = strict; }

 private:
  /// The uid of a graph, and "loss:0" for a tensor in it or "w" for a variable.
  using Key = std::pair<std::uint64_t, std::string>;
  static Key key_of(const Averaged& var);
  Variable make_shadow(const Averaged& var, Site site);

  Operand decay_;
  std::optional<Operand> num_updates_;
  ExponentialMovingAverageOptions options_;
  bool strict_slots_ = false;
  std::map<Key, Variable> averages_;
};

struct AssignMovingAverageOptions {
  bool zero_debias = true;
  std::string name{};
};

}  // namespace towerflow::train::types

namespace towerflow::train {

/// Assigns variable -= (1 - decay) * (variable - value), and returns the variable after the update.
/// With zero_debias, corrects the average for a start at zero.
///
/// shapes   value: that of the variable
/// dtypes   floating; a decay of another dtype is cast
/// grads    none: a write is not a function of the loss
/// errors   those of assign_sub; ValueError with zero_debias: the scope has reuse and `biased` does
///          not exist
/// source   moving_averages.assign_moving_average
Tensor assign_moving_average(const Variable& variable, const Operand& value, const Operand& decay,
                             AssignMovingAverageOptions options = {}, Site site = Site::current());

}  // namespace towerflow::train
