#pragma once

#include <functional>
#include <string>
#include <vector>

#include "parallel/staged_towers.h"

namespace towerflow::parallel::types {

/// Builds the loss of one tower. It is called inside the tower's variable scope, device and name
/// scope; `scope` is the latter, "tower_0/", for collections.
using TowerLoss = std::function<Tensor(int tower, const std::string& scope)>;

/// A model replicated in towers that share variables. Builds the same nodes as the loop of the
/// source. For each tower it enters a device and a name scope, builds the loss, and adds the
/// gradients; `get_variable` creates the variables in the first tower and reuses them in the
/// others. The average and the optimizer's update follow, on the device of the caller's scope. The
/// caller's variable scope does not stay in reuse mode. With a policy for update ops, the train op
/// groups them with the optimizer's update, as it does what keeps deferred gradients and staged
/// variables for the next step. A model with several losses is a StagedTowers.
///
/// errors   ValueError: less than one tower, no loss function, weighted_mean without a weight, a
///          weight with another policy, or a limit of `clip` that is not a positive number; what
///          the optimizer, average_gradients and combine_update_ops throw
/// source   cifar10_multi_gpu_train.train
class Towers : public TrainedObjective {
 public:
  Towers(train::Optimizer& optimizer, const TowerLoss& loss, const TowersOptions& options = {},
         Site site = Site::current());

  /// Returns what was derived from the options, in lines for a banner.
  std::string describe() const { return towers_.describe(); }

  std::vector<Tensor> weights;    ///< of each tower, with weighted_mean
  std::vector<Fetch> update_ops;  ///< that `train_op` runs

 private:
  StagedTowers towers_;
};

}  // namespace towerflow::parallel::types
