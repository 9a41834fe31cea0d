#pragma once

#include <optional>
#include <vector>

#include "layers/training.h"
#include "ops/nn/batch_normalization.h"
#include "ops/variables/variable.h"

namespace towerflow::layers::types {

/// Number of values that a mean is taken of: known when the graph is built, or a scalar of a run.
struct ValueCount {
  std::optional<std::int64_t> known{};
  Tensor tensor{};  ///< of the dtype of the moments; unset if `known`
};

/// Mean and variance of some values, for each channel.
struct SampleMoments {
  Tensor mean, variance;
  /// The values: the moments are taken over these dimensions.
  Tensor inputs;
  std::vector<int> axes;
  /// Whether the sum of squares was divided by n - 1, as fused_batch_norm returns it, not by n.
  bool unbiased = false;
};

/// The moments of several samples taken together, and the number of their values.
struct MergedMoments {
  nn::Moments moments;
  ValueCount count;
};

/// What one call of a batch normalization found in its batch, and the updates that it added.
struct BatchMoments {
  Variable moving_mean, moving_variance;
  SampleMoments sample;
  double momentum = 0;       ///< the share of the averages that an update keeps
  Training training = true;  ///< where it is false in a run, the updates change nothing
  Operation mean_update, variance_update;
};

}  // namespace towerflow::layers::types

namespace towerflow::layers {

/// Records moments in their graph. `batch_normalization` and `slim::batch_norm` do this; a layer of
/// a program's own does it so that `combine_update_ops` can merge its moments. Unlike an entry of a
/// collection, which TensorFlow's graphs would not have, the record is not seen by other functions.
void add_batch_moments(BatchMoments moments);

/// Returns the recorded moments of the default graph, in the order of the calls.
const std::vector<BatchMoments>& all_batch_moments();

/// Returns how many values the moments were taken of. Adds nodes if only a run knows.
ValueCount count_values(const SampleMoments& sample, Site site);

/// Returns the mean and variance of all values of several samples: with n[i] values, mean m[i] and
/// biased variance v[i] each, n their sum,
///
///     m = sum(n[i] m[i]) / n        v = sum(n[i] (v[i] + (m[i] - m)^2)) / n
///
/// The second term of v is the variance between the samples. If the variances are unbiased, so is
/// the result: sum((n[i] - 1) v[i] + n[i] (m[i] - m)^2) / (n - 1), as of one sample of n values. If
/// the counts are known and equal, sums are multiplied once. A sample without values counts for
/// nothing.
///
/// shapes   means and variances: all the same
/// dtypes   floating
/// grads    means, variances
/// source   Chan, Golub and LeVeque 1979, Updating Formulae and a Pairwise Algorithm for Computing
///          Sample Variances
MergedMoments merged_moments(const std::vector<SampleMoments>& samples, Site site);

/// Returns variance * n / (n - 1), the unbiased variance of n values; of one value, 0.
Tensor unbiased_variance(const Tensor& variance, const ValueCount& count, Site site);

}  // namespace towerflow::layers
