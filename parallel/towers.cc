#include "parallel/towers.h"

#include <fmt/format.h>

#include "core/graph/scopes.h"
#include "ops/control/group.h"
#include "ops/variables/variable_scope.h"

namespace towerflow::parallel {
namespace {

void check_towers(const TowerLoss& loss, const TowersOptions& options, Site site) {
  if (options.num_towers < 1) {
    throw ValueError(fmt::format("num_towers must be at least 1, got {}", options.num_towers),
                     {.site = site});
  }
  if (!loss) throw ValueError("Towers needs a function that makes a tower's loss", {.site = site});
  const bool weighted = options.policy == AveragePolicy::weighted_mean;
  if (weighted != static_cast<bool>(options.weight)) {
    throw ValueError(weighted ? "weighted_mean needs the weight of each tower: options.weight"
                              : "options.weight applies only to AveragePolicy::weighted_mean",
                     {.site = site});
  }
  if (options.clip) check_clip(*options.clip, site);
}

}  // namespace

Towers::Towers(train::Optimizer& optimizer, const TowerLoss& loss, const TowersOptions& options,
               Site site) {
  check_towers(loss, options, site);
  std::vector<std::vector<Fetch>> tower_updates;
  const auto clip = [&](std::vector<GradAndVar>& pairs, ClipStage stage) {
    if (!options.clip || options.clip->stage != stage) return;
    ClippedGradients clipped = clip_gradients(pairs, *options.clip, site);
    pairs = std::move(clipped.grads);
    global_norms.push_back(clipped.global_norm);
  };
  {
    // Entering the scope again keeps reuse_variables() from outliving the loop.
    const auto vars = variable_scope(get_variable_scope(), {}, site);
    for (int tower = 0; tower < options.num_towers; ++tower) {
      const auto on =
          device(options.device ? options.device(tower) : fmt::format("/gpu:{}", tower), site);
      const auto scope = name_scope(fmt::format("{}_{}", options.name, tower), {}, site);
      losses.push_back(loss(tower, scope));
      if (options.weight) weights.push_back(options.weight(tower));
      get_variable_scope().reuse_variables(site);
      tower_grads.push_back(
          optimizer.compute_gradients(losses.back(), options.compute_gradients, site));
      tower_updates.push_back(get_collection<Fetch>(GraphKeys::UPDATE_OPS, scope));
      clip(tower_grads.back(), ClipStage::per_tower);
    }
  }
  grads = average_gradients(tower_grads, {.policy = options.policy, .weights = weights}, site);
  clip(grads, ClipStage::after_mean);
  train_op = optimizer.apply_gradients(grads, options.apply_gradients, site);
  if (!options.update_ops) return;
  update_ops = combine_update_ops(tower_updates, *options.update_ops, site);
  std::vector<Fetch> step{train_op};
  step.insert(step.end(), update_ops.begin(), update_ops.end());
  train_op = group(step, {}, site);
}

}  // namespace towerflow::parallel
