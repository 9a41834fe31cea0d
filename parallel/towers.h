#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallel/average_gradients.h"
#include "train/optimizer.h"

namespace towerflow::parallel::types {

/// The loss of one tower, called inside its variable, device and name scope; `scope` is the latter,
/// "tower_0/", for collections.
using TowerLoss = std::function<Tensor(int tower, const std::string& scope)>;

struct TowersOptions {
  int num_towers = 1;
  /// The device of a tower; "/gpu:0", "/gpu:1", .. when not given.
  std::function<std::string(int tower)> device{};
  std::string name = "tower";  ///< of name scopes: tower_0, tower_1, ..
  train::ComputeGradientsOptions compute_gradients{};
  AveragePolicy policy = AveragePolicy::mean_over_present;
  /// For AveragePolicy::weighted_mean: a tower's weight [], called in its scopes after its loss.
  std::function<Tensor(int tower)> weight{};
  train::ApplyGradientsOptions apply_gradients{};  ///< the global step to increment, a name
};

/// A model replicated in towers that share variables: makes the loop of the source texts, node for
/// node. For each tower a device and a name scope are entered and the loss is made; `get_variable`
/// makes the variables in the first and finds them in the others; then come the tower's gradients.
/// After the towers follow the average and the optimizer's update, on the device of the caller's
/// scope. The caller's variable scope does not stay reusing.
///
/// errors   ValueError: less than one tower, no loss function, a weight for another policy than
///          weighted_mean or none for that one; what the optimizer and average_gradients throw
/// source   cifar10_multi_gpu_train.train
class Towers {
 public:
  Towers(train::Optimizer& optimizer, const TowerLoss& loss, const TowersOptions& options = {},
         Site site = Site::current());

  std::vector<Tensor> losses;                        ///< of each tower
  std::vector<std::vector<GradAndVar>> tower_grads;  ///< of each tower
  std::vector<GradAndVar> grads;                     ///< averaged
  Operation train_op;
};

}  // namespace towerflow::parallel::types
