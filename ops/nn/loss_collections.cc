#include "ops/nn/loss_collections.h"

#include "ops/array/constant.h"
#include "ops/math/add_n.h"

namespace towerflow::losses {

void add_loss(const Tensor& loss, const std::optional<std::string>& loss_collection) {
  if (loss_collection && !loss_collection->empty()) add_to_collection(*loss_collection, loss);
}

Collected<Tensor> get_losses(const std::optional<std::string>& scope,
                             const std::string& loss_collection) {
  return get_collection(loss_collection, scope);
}

Collected<Tensor> get_regularization_losses(const std::optional<std::string>& scope) {
  return get_collection(GraphKeys::REGULARIZATION_LOSSES, scope);
}

Tensor get_regularization_loss(RegularizationLossOptions options, Site site) {
  const Collected<Tensor> losses = get_regularization_losses(options.scope);
  if (losses.empty()) return constant(0.0, {}, site);
  return add_n(OperandList(losses, site), {.name = options.name}, site);
}

Tensor get_total_loss(TotalLossOptions options, Site site) {
  Collected<Tensor> losses = get_losses(options.scope);
  if (options.add_regularization_losses) {
    const Collected<Tensor> more = get_regularization_losses(options.scope);
    losses.insert(losses.end(), more.begin(), more.end());
  }
  if (losses.empty()) {
    throw ValueError(
        "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and "
        "shape.",
        {.site = site, .op = "get_total_loss", .hint = losses.explain()});
  }
  return add_n(OperandList(losses, site), {.name = options.name}, site);
}

}  // namespace towerflow::losses
