#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/batch_norm/batch_norm.h"
#include "models/training.h"

namespace towerflow::models::batch_norm {

struct CompareOptions {
  int num_towers = 2;
  std::int64_t batch_size = 32;    ///< per tower
  std::int64_t steps = 60;         ///< trained with each way
  std::string layer = "conv1/bn";  ///< whose moments are compared: "conv1/bn" or "conv2/bn"
  /// Whether the digits are dealt by their ink, the lightest to the first tower, and not in turn.
  bool by_ink = false;
  std::int64_t seed = 1;
  std::string data_dir{};
  DeviceOptions devices{};
};

/// A short training with one way of updating the moving averages. Distances are norms of
/// differences divided by norms.
struct WayResult {
  WayReport report;
  double mean = 0, variance = 0;  ///< the layer's moving averages, averaged over its channels
  /// Of the averages from the moments of the test digits in the trained network.
  double mean_off = 0, variance_off = 0;
  /// Of the moments by which the towers normalize from their mean over the towers, root mean square
  /// over the towers, averaged over the steps.
  double mean_drift = 0, variance_drift = 0;
  double seconds = 0;  ///< median time of a step
  double loss = 0;     ///< mean of the towers' losses in the last step
  std::int64_t examples = 0, right = 0;
  std::int64_t right_by_batch = 0;  ///< with the moments of each batch of test digits
};

/// Trains the network in every way, from the same values on the same batches, step by step in
/// turns, and evaluates it. `on_step` is called with the steps done and their total.
///
/// errors   ValueError: no layer of that name; fewer digits than one step needs; NotFoundError and
///          DataLossError of the data
std::vector<WayResult> compare_ways(
    const CompareOptions& options,
    const std::function<void(std::int64_t done, std::int64_t total)>& on_step);

}  // namespace towerflow::models::batch_norm
