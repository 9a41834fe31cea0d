#include "train/loss_scale.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/error.h"
#include "ops/array/indexed_slices.h"
#include "ops/control/cond.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/variables/assign.h"

namespace towerflow::train::experimental {
namespace {

DynamicLossScaleOptions checked(const DynamicLossScaleOptions& options, Site site) {
  const auto check = [site](double number, const char* name) {
    if (std::isfinite(number) && number > 0) return;
    throw ValueError(fmt::format("{} must be positive, got {}", name, number), {.site = site});
  };
  check(options.initial_loss_scale, "initial_loss_scale");
  check(static_cast<double>(options.increment_period), "increment_period");
  check(options.multiplier, "multiplier");
  return options;
}

/// Returns whether all numbers of all gradients are finite, bool [].
Tensor all_finite(const std::vector<OptionalGradient>& grads, Site site) {
  std::vector<Tensor> finite;
  for (const OptionalGradient& grad : grads) {
    if (!grad) continue;
    const Tensor numbers = grad->is_dense() ? grad->dense() : grad->slices().values;
    finite.push_back(reduce_all(is_finite(numbers, {}, site), {}, site));
  }
  return reduce_all(finite, {}, site);
}

}  // namespace

LossScale::~LossScale() = default;

FixedLossScale::FixedLossScale(double loss_scale_value, Site site) : value_(loss_scale_value) {
  if (value_ >= 1) return;
  throw ValueError("loss_scale_value must be at least 1.", {.site = site});
}

Tensor FixedLossScale::operator()(Site site) const {
  return convert_to_tensor(static_cast<float>(value_), {}, site);
}

DynamicLossScale::DynamicLossScale(DynamicLossScaleOptions options, Site site)
    : options_(checked(options, site)),
      scale_(Operand(static_cast<float>(options.initial_loss_scale), site),
             {.trainable = false, .name = "current_loss_scale"}, site),
      good_steps_(Operand(0, site), {.trainable = false, .name = "good_steps", .dtype = int64},
                  site) {}

Tensor DynamicLossScale::operator()(Site) const { return scale_.value(); }

Operation DynamicLossScale::grow(Site site) const {
  const Tensor larger =
      multiply(scale_, static_cast<float>(options_.multiplier), {.name = "mul"}, site);
  const Tensor assigned = cond(
      is_finite(larger, {}, site), [&] { return assign(scale_, larger, {}, site).op(); },
      [&] { return no_op({}, site); }, {}, site);
  return group({assigned, assign(good_steps_, 0, {}, site)}, {}, site);
}

Operation DynamicLossScale::shrink(Site site) const {
  const Tensor smaller =
      maximum(truediv(scale_, static_cast<float>(options_.multiplier), {.name = "truediv"}, site),
              1.0F, {}, site);
  return group({assign(good_steps_, 0, {}, site), assign(scale_, smaller, {}, site)}, {}, site);
}

std::optional<LossScaleUpdate> DynamicLossScale::update(const std::vector<OptionalGradient>& grads,
                                                        Site site) const {
  const Tensor finite = all_finite(grads, site);
  const auto after_a_good_step = [&] {
    const Tensor steps = add(good_steps_, 1, {.name = "add"}, site);
    return cond(
        greater_equal(steps, options_.increment_period, {}, site), [&] { return grow(site); },
        [&] { return assign_add(good_steps_, 1, {}, site).op(); }, {}, site);
  };
  const Tensor updated = cond(
      finite, after_a_good_step, [&] { return shrink(site); }, {}, site);
  return LossScaleUpdate{updated.op(), finite};
}

}  // namespace towerflow::train::experimental
