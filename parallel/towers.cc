#include "parallel/towers.h"

namespace towerflow::parallel {
namespace {

TowerLosses only(const TowerLoss& loss) {
  if (!loss) return {};
  return [&loss](int tower, const std::string& scope) {
    return std::vector<Tensor>{loss(tower, scope)};
  };
}

}  // namespace

Towers::Towers(train::Optimizer& optimizer, const TowerLoss& loss, const TowersOptions& options,
               Site site)
    : towers_({{.name = "loss", .optimizer = optimizer}}, only(loss), options, site) {
  static_cast<TrainedObjective&>(*this) = towers_.objectives.front();
  weights = towers_.weights;
  update_ops = towers_.update_ops;
  if (options.update_ops || options.staged_variables || options.deferred_gradients)
    train_op = towers_.stage({"loss"}, site);
}

}  // namespace towerflow::parallel
