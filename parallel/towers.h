#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallel/average_gradients.h"
#include "parallel/clip_gradients.h"
#include "parallel/update_ops.h"
#include "train/optimizer.h"

namespace towerflow::parallel::types {

/// Builds the loss of one tower. It is called inside the tower's variable scope, device and name
/// scope; `scope` is the latter, "tower_0/", for collections.
using TowerLoss = std::function<Tensor(int tower, const std::string& scope)>;

struct TowersOptions {
  int num_towers = 1;
  /// Returns the device of a tower; "/gpu:0", "/gpu:1", .. if not set.
  std::function<std::string(int tower)> device{};
  std::string name = "tower";  ///< prefix of the name scopes tower_0, tower_1, ..
  train::ComputeGradientsOptions compute_gradients{};
  AveragePolicy policy = AveragePolicy::mean_over_present;
  /// For AveragePolicy::weighted_mean: returns a tower's weight []; called in the tower's scopes
  /// after its loss.
  std::function<Tensor(int tower)> weight{};
  std::optional<GradientClip> clip{};              ///< before or after the gradients are averaged
  train::ApplyGradientsOptions apply_gradients{};  ///< such as the global step to increment
  /// Which towers' UPDATE_OPS `train_op` runs; none if not set.
  std::optional<UpdateOpsPolicy> update_ops{};
};

/// A model replicated in towers that share variables. Builds the same nodes as the loop of the
/// source. For each tower it enters a device and a name scope, builds the loss, and adds the
/// gradients; `get_variable` creates the variables in the first tower and reuses them in the
/// others. The average and the optimizer's update follow, on the device of the caller's scope. The
/// caller's variable scope does not stay in reuse mode. With a policy for update ops, the train op
/// groups them with the optimizer's update.
///
/// errors   ValueError: less than one tower, no loss function, weighted_mean without a weight, a
///          weight with another policy, or a limit of `clip` that is not a positive number; what
///          the optimizer, average_gradients and combine_update_ops throw
/// source   cifar10_multi_gpu_train.train
class Towers {
 public:
  Towers(train::Optimizer& optimizer, const TowerLoss& loss, const TowersOptions& options = {},
         Site site = Site::current());

  std::vector<Tensor> losses;                        ///< of each tower
  std::vector<Tensor> weights;                       ///< of each tower, with weighted_mean
  std::vector<std::vector<GradAndVar>> tower_grads;  ///< of each tower, as they are averaged
  std::vector<GradAndVar> grads;                     ///< averaged, as they are applied
  /// The global norms of the gradients before they were clipped: one for each tower, or that of the
  /// average. Empty if nothing is clipped.
  std::vector<Tensor> global_norms;
  std::vector<Fetch> update_ops;  ///< that `train_op` runs
  Operation train_op;
};

}  // namespace towerflow::parallel::types
