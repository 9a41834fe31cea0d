#include "train/loss_scale_optimizer.h"

#include <fmt/format.h>

#include "core/graph/error.h"
#include "ops/array/cast.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"

namespace towerflow::train::experimental {
namespace {

/// The name of an optimizer, which must be there.
std::string name_of(const std::shared_ptr<Optimizer>& opt, Site site) {
  if (opt == nullptr) throw ValueError("\"opt\" must be an optimizer", {.site = site});
  return opt->get_name();
}

Gradient scaled(const Gradient& gradient, const Tensor& factor, Site site) {
  const auto times = [&](const Tensor& numbers) {
    return multiply(numbers, cast(factor, numbers.dtype(), {}, site), {.name = "mul"}, site);
  };
  if (gradient.is_dense()) return times(gradient.dense());
  IndexedSlices slices = gradient.slices();
  slices.values = times(slices.values);
  return slices;
}

}  // namespace

LossScaleChoice::LossScaleChoice(double fixed, Site site)
    : scale_(std::make_shared<FixedLossScale>(fixed, site)) {}

LossScaleChoice::LossScaleChoice(const std::string& name, Site site) {
  if (name != "dynamic") {
    throw ValueError(fmt::format("Could not interpret loss scale identifier: {}", name),
                     {.site = site, .hint = "it is a number, \"dynamic\" or a LossScale"});
  }
  scale_ = std::make_shared<DynamicLossScale>(DynamicLossScaleOptions{}, site);
}

MixedPrecisionLossScaleOptimizer::MixedPrecisionLossScaleOptimizer(std::shared_ptr<Optimizer> opt,
                                                                   LossScaleChoice loss_scale,
                                                                   Site site)
    : Optimizer(name_of(opt, site), false), wrapped_(std::move(opt)), scale_(loss_scale.scale()) {
  if (scale_ == nullptr) throw ValueError("loss_scale cannot be None", {.site = site});
}

std::vector<Variable> MixedPrecisionLossScaleOptimizer::variables() const {
  std::vector<Variable> all = wrapped_->variables();
  const std::vector<Variable> own = scale_->variables();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<GradAndVar> MixedPrecisionLossScaleOptimizer::compute(
    const Tensor& loss, const ComputeGradientsOptions& options, Site site) {
  const Tensor scale = cast((*scale_)(site), loss.dtype(), {}, site);
  const Tensor larger = multiply(loss, scale, {.name = "mul"}, site);
  std::vector<GradAndVar> pairs = compute_with(*wrapped_, larger, options, site);
  const Tensor reciprocal = truediv(1.0F, (*scale_)(site), {.name = "truediv"}, site);
  for (GradAndVar& pair : pairs) {
    if (!pair.grad) continue;
    pair.grad =
        OptionalGradient(scaled(*pair.grad, reciprocal, site)).with_origin(pair.grad.origin());
  }
  return pairs;
}

Operation MixedPrecisionLossScaleOptimizer::apply(const std::vector<GradAndVar>& grads_and_vars,
                                                  const ApplyGradientsOptions& options, Site site) {
  std::vector<OptionalGradient> grads;
  for (const GradAndVar& pair : grads_and_vars) grads.push_back(pair.grad);
  const std::optional<LossScaleUpdate> update = scale_->update(grads, site);
  if (!update) return apply_with(*wrapped_, grads_and_vars, options, site);
  const std::string name = options.name.empty() ? get_name() : options.name;
  const Tensor applied = cond(
      update->should_apply_gradients,
      [&] {
        return apply_with(*wrapped_, grads_and_vars,
                          {.global_step = options.global_step, .name = name + "-wrapped"}, site);
      },
      [&] { return no_op({}, site); }, {}, site);
  return group({applied, update->update_op}, {.name = name}, site);
}

Operation MixedPrecisionLossScaleOptimizer::apply_dense(const Tensor&, const Variable& variable,
                                                        Site site) {
  throw errors::InternalError("the wrapped optimizer applies gradients",
                              {.site = site, .node = variable.op().name()});
}

Operation MixedPrecisionLossScaleOptimizer::apply_sparse(const IndexedSlices&,
                                                         const Variable& variable, Site site) {
  throw errors::InternalError("the wrapped optimizer applies gradients",
                              {.site = site, .node = variable.op().name()});
}

}  // namespace towerflow::train::experimental
