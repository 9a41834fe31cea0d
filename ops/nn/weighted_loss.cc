#include "ops/nn/weighted_loss.h"

#include "core/graph/scopes.h"
#include "ops/array/cast.h"
#include "ops/array/fill.h"
#include "ops/array/rank_size.h"
#include "ops/array/select.h"
#include "ops/math/binary.h"
#include "ops/math/range.h"
#include "ops/math/reduce.h"
#include "ops/nn/loss_collections.h"
#include "ops/nn/weights_broadcast.h"

namespace towerflow::losses {
namespace {

/// Divides a sum by a count; 0 if the count is 0. Like TensorFlow, reduces the sum though it is a
/// single number already.
Tensor safe_mean(const Tensor& sum, const Tensor& present, Site site) {
  const Tensor total = reduce_sum(sum, {}, site);
  return div_no_nan(total, present, {.name = "value"}, site);
}

Tensor num_elements(const Tensor& losses, Site site) {
  const NameScope scope(losses.graph(), "num_elements", site);
  return cast(size(losses, {.name = scope.name()}, site), losses.dtype(), {}, site);
}

Tensor reduced(const Tensor& losses, const Tensor& weights, Reduction reduction, Site site) {
  const Tensor weighted = multiply(losses, weights, {}, site);
  if (reduction == Reduction::NONE) return weighted;
  const Tensor sum = reduce_sum(weighted, {}, site);
  switch (reduction) {
    case Reduction::MEAN: {
      const Tensor ones = ones_like(losses, {}, site);
      const Tensor repeated = Operand(ones, site) * Operand(weights, site);
      return safe_mean(sum, reduce_sum(repeated, {}, site), site);
    }
    case Reduction::SUM_BY_NONZERO_WEIGHTS:
      return safe_mean(sum, num_present(losses, weights, false, site), site);
    case Reduction::SUM_OVER_BATCH_SIZE:
      return safe_mean(sum, num_elements(losses, site), site);
    default:
      return sum;
  }
}

}  // namespace

Tensor num_present(const Tensor& losses, const Tensor& weights, bool per_batch, Site site) {
  const NameScope scope(losses.graph(), "num_present", site);
  const Tensor none = equal(weights, 0.0, {}, site);
  const Tensor zeros = zeros_like(weights, {}, site);
  const Tensor ones = ones_like(weights, {}, site);
  const Tensor present = where(none, zeros, ones, {}, site);
  const Tensor each = broadcast_weights(present, losses, site);
  if (!per_batch) return reduce_sum(each, {.name = scope.name()}, site);
  const Tensor dims = rank(each, {}, site);
  const Tensor axes = range(1, dims, 1, {}, site);
  return reduce_sum(each, axes, {.keepdims = true, .name = scope.name()}, site);
}

Tensor compute_weighted_loss(const Operand& losses, LossOptions options, Site site) {
  std::vector<Tensor> values;
  for (const Operand* operand : {&losses, static_cast<const Operand*>(&options.weights)}) {
    if (const Tensor* tensor = operand->any_tensor()) values.push_back(*tensor);
  }
  const NameScope scope =
      name_scope(options.scope, {.default_name = "weighted_loss", .values = values}, site);
  const Operand weights = options.weights.at(site);
  const Operation checked = assert_broadcastable(weights, losses, site);
  const ControlDependencies after = control_dependencies({checked}, site);
  const Tensor given = convert_operand(get_default_graph(), losses, "", std::nullopt);
  const Tensor each = cast(given, DType::float32, {}, site);
  const Tensor factors = cast(weights, DType::float32, {}, site);
  const Tensor loss =
      cast(reduced(each, factors, options.reduction, site), given.dtype(), {}, site);
  add_loss(loss, options.loss_collection);
  return loss;
}

}  // namespace towerflow::losses
