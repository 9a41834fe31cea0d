#pragma once

#include <vector>

namespace towerflow::report {

/// The rate of steps of equally many examples, as tf_cnn_benchmarks computes it.
struct StepRates {
  double mean = 0;         ///< examples per second: of all examples in all the time
  double uncertainty = 0;  ///< standard deviation of the steps' rates / sqrt(number of steps)
  double jitter = 0;  ///< 1.4826 * median of the distances of the steps' rates from their median
};

/// Returns the rates of steps that took `seconds`. Throws ValueError if there are none.
StepRates step_rates(double examples, const std::vector<double>& seconds);

}  // namespace towerflow::report
