#pragma once

#include <functional>
#include <vector>

#include "train/session_run_hook.h"

namespace towerflow::parallel::types {

/// Says after each step which towers counted nothing, as those with an empty batch do under
/// AveragePolicy::weighted_mean. A loop without hooks fetches the weights itself. Why a gradient is
/// absent in every step is known before the first one: `who_trains_what`.
class AbsentTowersHook : public train::SessionRunHook {
 public:
  /// Called with the towers of weight 0, if there are any.
  using Report = std::function<void(std::int64_t step, const std::vector<int>& towers)>;

  /// `weights`: those of `Towers` or `AverageOptions`. Without `report`, logs a warning.
  explicit AbsentTowersHook(std::vector<Tensor> weights, Report report = {});
  train::SessionRunArgs before_run(train::SessionRunContext& context) override;
  void after_run(train::SessionRunContext& context, const train::SessionRunValues& values) override;

 private:
  std::vector<Tensor> weights_;
  Report report_;
};

}  // namespace towerflow::parallel::types
