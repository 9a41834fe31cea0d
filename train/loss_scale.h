#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autodiff/gradients.h"
#include "ops/control/group.h"
#include "ops/variables/variable.h"

namespace towerflow::train::experimental::types {

/// What a step does with its loss scale.
struct LossScaleUpdate {
  Operation update_op;            ///< updates the scale
  Tensor should_apply_gradients;  ///< bool []
};

/// A number by which a loss is multiplied and its gradients are divided. In between, gradients that
/// float16 would round to zero keep their bits: its smallest positive number is 6e-8.
/// (tf.train.experimental.LossScale; Micikevicius et al. 2018)
class LossScale {
 public:
  virtual ~LossScale();

  /// Returns the scale, float32 [].
  virtual Tensor operator()(Site site = Site::current()) const = 0;
  /// Returns how a step updates the scale after it has computed `grads`, which have been divided by
  /// it; nothing if the scale stays as it is and gradients are always applied. Absent gradients are
  /// ignored; at least one is present.
  virtual std::optional<LossScaleUpdate> update(const std::vector<OptionalGradient>& grads,
                                                Site site = Site::current()) const = 0;
  /// Returns the variables that keep the scale from step to step.
  virtual std::vector<Variable> variables() const { return {}; }
};

/// A scale that stays as it is. (tf.train.experimental.FixedLossScale)
class FixedLossScale final : public LossScale {
 public:
  /// Throws ValueError unless the scale is a number that is at least 1.
  explicit FixedLossScale(double loss_scale_value, Site site = Site::current());

  Tensor operator()(Site site = Site::current()) const override;
  std::optional<LossScaleUpdate> update(const std::vector<OptionalGradient>&,
                                        Site = Site::current()) const override {
    return std::nullopt;
  }

 private:
  double value_;
};

struct DynamicLossScaleOptions {
  double initial_loss_scale = 1 << 15;
  /// After as many steps in succession whose gradients are all finite, the scale grows.
  std::int64_t increment_period = 2000;
  double multiplier = 2.0;  ///< by which the scale grows and shrinks
};

/// A scale that shrinks, but not below 1, when a gradient is infinite or NaN; the gradients of that
/// step are not applied. It grows after `increment_period` steps without such gradients, unless it
/// would become infinite. (tf.train.experimental.DynamicLossScale)
///
/// The scale is kept in the variable `current_loss_scale` and the number of good steps in
/// `good_steps`, which the constructor adds to the default graph. They are in checkpoints.
class DynamicLossScale final : public LossScale {
 public:
  /// Throws ValueError unless the options are positive numbers.
  explicit DynamicLossScale(DynamicLossScaleOptions options = {}, Site site = Site::current());

  Tensor operator()(Site site = Site::current()) const override;
  std::optional<LossScaleUpdate> update(const std::vector<OptionalGradient>& grads,
                                        Site site = Site::current()) const override;
  std::vector<Variable> variables() const override { return {scale_, good_steps_}; }

 private:
  Operation grow(Site site) const;
  Operation shrink(Site site) const;

  DynamicLossScaleOptions options_;
  Variable scale_, good_steps_;
};

}  // namespace towerflow::train::experimental::types

namespace towerflow::train::experimental {
using namespace types;
}  // namespace towerflow::train::experimental
