#include "layers/regularizers.h"

#include <fmt/format.h>

#include <cmath>

#include "core/graph/op_builder.h"
#include "ops/array/constant.h"
#include "ops/math/binary.h"
#include "ops/math/l2_loss.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"

namespace towerflow::keras::regularizers {
namespace {

float penalty_factor(double value, Site site) {
  if (std::isfinite(value)) return static_cast<float>(value);
  throw ValueError(fmt::format("Value {:g} is not a valid regularization penalty number, an "
                               "infinite number or NaN are not valid values.",
                               value),
                   {.site = site});
}

Tensor scaled_loss(float factor, const Tensor& loss, Site site) {
  return Operand(static_cast<double>(factor), site) * Operand(loss, site);
}

Tensor l1_loss_of(const Operand& weights, float factor, Site site) {
  const Tensor sizes = towerflow::abs(weights, {}, site);
  return scaled_loss(factor, reduce_sum(Operand(sizes, site), {}, site), site);
}

Tensor l2_loss_of(const Operand& weights, float factor, Site site) {
  return scaled_loss(2.0f * factor, nn::l2_loss(weights, {}, site), site);
}

}  // namespace

Penalty l1(double factor, Site site) {
  return [value = penalty_factor(factor, site), site](const Operand& weights) {
    return std::optional(l1_loss_of(weights, value, site));
  };
}

Penalty l2(double factor, Site site) {
  return [value = penalty_factor(factor, site), site](const Operand& weights) {
    return std::optional(l2_loss_of(weights, value, site));
  };
}

Penalty l1_l2(double l1_factor, double l2_factor, Site site) {
  return [of_l1 = penalty_factor(l1_factor, site), of_l2 = penalty_factor(l2_factor, site),
          site](const Operand& weights) -> std::optional<Tensor> {
    const DType dtype =
        weights.any_tensor() != nullptr ? weights.any_tensor()->dtype() : DType::float32;
    const DefaultGraphGuard graph(graph_of(weights));
    Tensor sum = constant(Operand(0.0, site), {.dtype = dtype}, site);
    const auto add_loss = [&](const Tensor& loss) {
      sum = Operand(sum, site) + Operand(loss, site);
    };
    if (of_l1 != 0.0f) add_loss(l1_loss_of(weights, of_l1, site));
    if (of_l2 != 0.0f) add_loss(l2_loss_of(weights, of_l2, site));
    return sum;
  };
}

}  // namespace towerflow::keras::regularizers
