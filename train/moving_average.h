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

/// Something that has a moving average: a variable, or a tensor such as a loss.
class Averaged {
 public:
  Averaged(Variable variable);  // NOLINT: {w, loss}
  Averaged(Tensor tensor);      // NOLINT

  const std::optional<Variable>& variable() const { return variable_; }
  /// Its value.
  Tensor value() const;
  /// "w:0", "tower_0/loss:0"
  std::string name() const { return source().name(); }
  Operation op() const { return source().op(); }
  DType dtype() const { return source().dtype(); }
  const Shape& shape() const { return source().shape(); }

 private:
  Tensor source() const;

  std::optional<Variable> variable_;
  Tensor tensor_;
};

/// A list of variables and tensors, or none: all trainable variables.
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
  /// Scales averages of tensors, which begin at zero, as if they had not: section 3 of Kingma and
  /// Ba 2015. The variables `biased` and `local_step` beside an average keep the count.
  bool zero_debias = false;
  std::string name = "ExponentialMovingAverage";
};

/// Keeps shadow variables that follow variables and tensors:
/// shadow -= (1 - decay) * (shadow - value). (tf.train.ExponentialMovingAverage)
///
/// The shadow of `w` is `w/ExponentialMovingAverage`, on the device of `w`, and begins at its
/// initial value; that of a tensor `tower_0/loss` is `tower_0/loss/ExponentialMovingAverage` and
/// begins at zero. The variables averaged are listed in MOVING_AVERAGE_VARIABLES, the shadows in
/// GLOBAL_VARIABLES, not trainable. Each graph that `apply` is called in has shadows of its own.
class ExponentialMovingAverage {
 public:
  /// With `num_updates`, a count of steps, the decay is min(decay, (1 + n) / (10 + n)).
  explicit ExponentialMovingAverage(ScalarOperand decay, std::optional<Operand> num_updates = {},
                                    ExponentialMovingAverageOptions options = {});
  ExponentialMovingAverage(ScalarOperand decay, ExponentialMovingAverageOptions options)
      : ExponentialMovingAverage(std::move(decay), std::nullopt, std::move(options)) {}

  const std::string& name() const { return options_.name; }

  /// An operation that updates the shadows, which the first call for each makes.
  ///
  /// dtypes   float32, float64
  /// errors   TypeError: another dtype; ValueError: `set_strict_slots` and a scope that reuses
  Operation apply(const AveragedList& var_list = std::nullopt, Site site = Site::current());

  /// The shadow, once `apply` has made it.
  std::optional<Variable> average(const Averaged& var) const;
  /// The name of the shadow, or the one it would get now.
  std::string average_name(const Averaged& var) const;
  /// What to restore a model from: the shadow's name for each variable that has one or may have
  /// one (by default the trainable ones and those in MOVING_AVERAGE_VARIABLES), its own name for
  /// every other global variable. For tf::train::Saver.
  std::map<std::string, Variable> variables_to_restore(
      const std::optional<std::vector<Variable>>& moving_avg_variables = std::nullopt) const;

  /// In a variable scope that reuses, shadows are found where they exist, as in TensorFlow, and
  /// made where they do not. With `strict` they are not made: `apply` fails as it does there.
  void set_strict_slots(bool strict) { strict_slots_ = strict; }

 private:
  /// A graph's uid; "loss:0" for a tensor there, "w" for a variable.
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

/// variable -= (1 - decay) * (variable - value); reads the variable afterwards.
///
/// shapes   value as the variable
/// dtypes   floating; a decay of another dtype is cast
/// grads    none: a write is not a function of the loss
/// errors   those of assign_sub; with zero_debias ValueError where the scope reuses and `biased`
///          does not exist
/// source   moving_averages.assign_moving_average
Tensor assign_moving_average(const Variable& variable, const Operand& value, const Operand& decay,
                             AssignMovingAverageOptions options = {}, Site site = Site::current());

}  // namespace towerflow::train
