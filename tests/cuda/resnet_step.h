#pragma once

#include "models/models.h"
#include "models/resnet20/resnet20.h"
#include "tests/models/steps.h"

namespace towerflow::testing {

/// A training step of a residual network on two towers.
template <int layers>
Step resnet_step() {
  namespace resnet20 = models::resnet20;
  const auto towers =
      resnet20::build_towers({.num_layers = layers, .num_towers = 2, .batch_size = 2},
                             [] { return [] { return resnet20::batch_in_memory(2); }; });
  Step step{{towers.train_op}, {}};
  for (const Tensor& loss : towers.losses) step.fetches.emplace_back(loss);
  return step;
}

}  // namespace towerflow::testing
