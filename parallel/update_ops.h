#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/fetch.h"

namespace towerflow::types {

/// Which of the towers' update ops a step runs: those that batch normalizations list in UPDATE_OPS
/// to move their averages. With N towers, the average v, the moments x[i] of tower i and a momentum
/// m, one step leaves
enum class UpdateOpsPolicy {
  first,  ///< m v + (1 - m) x[0]: the first tower's ops
  last,   ///< m v + (1 - m) x[N-1]: the last tower's
  /// v - (1 - m) sum(v - x[i]): every tower's, each with its distance from the value before the
  /// step, so that the steps add up. TensorFlow gives this if all towers read before one writes.
  all,
  /// m^N v + (1 - m) sum(m^(N-1-i) x[i]): every tower's, one after the other.
  in_order,
  /// m v + (1 - m) x of all towers' values taken as one batch: their mean, and their variance
  /// including the part between the towers.
  merged,
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns the policies by their names: "first", "last", "all", "in_order", "merged".
const std::vector<std::pair<std::string, UpdateOpsPolicy>>& update_ops_policies();

/// Returns the policy of that name. Throws ValueError if there is none.
UpdateOpsPolicy update_ops_policy(const std::string& name, Site site = Site::current());

/// Returns the ops that a step has to run, for `control_dependencies` or `group`.
///
///     tower_updates.push_back(tf::get_collection<tf::Fetch>(tf::GraphKeys::UPDATE_OPS, scope));
///     ...
///     auto updates = tf::combine_update_ops(tower_updates, tf::UpdateOpsPolicy::merged);
///
/// Each entry of `tower_updates` has the ops of one tower, in the order in which the towers were
/// built. With `first`, `last` and `in_order` the result has only ops of these lists. With `all`
/// and `merged` new ones replace them, made in the name scope "update_averaging", on the devices of
/// the averages: of the values that the towers' ops assign, add or subtract, and of the moments
/// that the layers recorded (layers/batch_moments.h). A step must not run the replaced ops as well.
/// `merged` takes a layer that a tower calls several times for as many batches; with one tower the
/// result has its own ops.
///
/// errors   ValueError: no towers; an op that two towers list, as they do if one of them collected
///          without its scope; with `all`, an op that does not assign, add or subtract; with
///          `merged`, one that belongs to no recorded moments, and layers whose towers train by
///          different tensors
/// source   the estimator of cifar10_main runs the first tower's, inception_train the last one's,
///          and cifar10_multi_gpu with batch normalization all
std::vector<Fetch> combine_update_ops(const std::vector<std::vector<Fetch>>& tower_updates,
                                      UpdateOpsPolicy policy, Site site = Site::current());

}  // namespace towerflow
