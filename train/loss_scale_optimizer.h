#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/loss_scale.h"
#include "train/optimizer.h"

namespace towerflow::train::experimental::types {

/// The scale of a loss: a number, "dynamic", or an object, which optimizers may share.
class LossScaleChoice {
 public:
  LossScaleChoice(double fixed, Site site = Site::current());             // NOLINT: 128
  LossScaleChoice(const std::string& name, Site site = Site::current());  // NOLINT: "dynamic"
  LossScaleChoice(const char* name, Site site = Site::current())          // NOLINT
      : LossScaleChoice(std::string(name), site) {}
  template <std::derived_from<LossScale> S>
  LossScaleChoice(std::shared_ptr<S> scale)  // NOLINT
      : scale_(std::move(scale)) {}

  const std::shared_ptr<LossScale>& scale() const { return scale_; }

 private:
  std::shared_ptr<LossScale> scale_;
};

/// Multiplies the loss of another optimizer by a scale and divides the gradients by it, for models
/// that compute in float16. (tf.train.experimental.MixedPrecisionLossScaleOptimizer)
///
///     auto opt = tf::train::experimental::MixedPrecisionLossScaleOptimizer(
///         tf::train::MomentumOptimizer(0.1, 0.9), "dynamic");
///
/// With a dynamic scale, a step whose gradients are not all finite changes no variable but those of
/// the scale, and does not count for the global step. Gradients of several towers are judged
/// together, after they were averaged: one tower without finite gradients is enough.
class MixedPrecisionLossScaleOptimizer final : public Optimizer {
 public:
  /// errors   ValueError: no optimizer, no scale, a name other than "dynamic", or a number below 1
  MixedPrecisionLossScaleOptimizer(std::shared_ptr<Optimizer> opt, LossScaleChoice loss_scale,
                                   Site site = Site::current());
  template <std::derived_from<Optimizer> O>
  MixedPrecisionLossScaleOptimizer(O opt, LossScaleChoice loss_scale, Site site = Site::current())
      : MixedPrecisionLossScaleOptimizer(std::make_shared<O>(std::move(opt)), std::move(loss_scale),
                                         site) {}

  const LossScale& loss_scale() const { return *scale_; }

  std::optional<Variable> get_slot(const Variable& variable,
                                   const std::string& name) const override {
    return wrapped_->get_slot(variable, name);
  }
  std::vector<std::string> get_slot_names() const override { return wrapped_->get_slot_names(); }
  /// Returns the variables of the other optimizer, then those of the scale.
  std::vector<Variable> variables() const override;
  void set_strict_slots(bool strict) override { wrapped_->set_strict_slots(strict); }

 private:
  std::vector<GradAndVar> compute(const Tensor& loss, const ComputeGradientsOptions& options,
                                  Site site) override;
  Operation apply(const std::vector<GradAndVar>& grads_and_vars,
                  const ApplyGradientsOptions& options, Site site) override;
  // The other optimizer does all of this.
  void create_slots(const std::vector<Variable>&, Site) override {}
  void prepare(Graph&, Site) override {}
  Operation apply_dense(const Tensor&, const Variable& variable, Site site) override;
  Operation apply_sparse(const IndexedSlices&, const Variable& variable, Site site) override;

  std::shared_ptr<Optimizer> wrapped_;
  std::shared_ptr<LossScale> scale_;
};

}  // namespace towerflow::train::experimental::types
