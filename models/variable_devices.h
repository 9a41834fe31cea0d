#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/graph/scopes.h"
#include "train/optimizer.h"

namespace towerflow::models {

/// Towers whose variables are on devices of their own, as in TensorFlow's CIFAR-10 estimator.

/// Returns the number of a device for a variable's op.
using PsStrategy = std::function<int(const Operation&)>;

/// Returns each of `num_tasks` devices in turn.
PsStrategy round_robin(int num_tasks);

/// Returns the device with the fewest bytes of variables so far, the first of several.
/// (tf.contrib.training.GreedyLoadBalancingStrategy with byte_size_load_fn)
PsStrategy greedy_load_balancing(int num_tasks);

/// Returns a device function that requests a device of type `ps_device_type`, "cpu" or "gpu", for
/// variables and `worker_device` for everything else. Scopes inside take precedence.
DeviceFunction local_device_setter(const std::string& ps_device_type,
                                   const std::string& worker_device, PsStrategy ps_strategy);

/// Averages the gradients of each variable over the towers that have one, on the variable's device,
/// in the name scope `gradient_averaging`. A variable without a gradient in any tower is left out.
///
/// Unlike tf::average_gradients, it does not need the same variables in each tower, and builds the
/// nodes of the estimator: AddN and Mul, none for a single gradient. Throws TypeError for slices.
std::vector<GradAndVar> average_present_gradients(
    const std::vector<std::vector<GradAndVar>>& tower_gradvars);

}  // namespace towerflow::models
