// The statistics of tf_cnn_benchmarks' lines.
#include "report/step_rates.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/graph/error.h"

using towerflow::report::step_rates;
using towerflow::report::StepRates;

TEST_CASE("the rate of steps, its uncertainty and its jitter, by arithmetic") {
  // Rates 100, 50, 25, 100 and 20 examples a second.
  const StepRates rates = step_rates(10, {0.1, 0.2, 0.4, 0.1, 0.5});
  CHECK(rates.mean == doctest::Approx(50 / 1.3));
  // The mean of the rates is 59, their variance (41^2 + 9^2 + 34^2 + 41^2 + 39^2) / 5 = 1224.
  CHECK(rates.uncertainty == doctest::Approx(std::sqrt(1224.0) / std::sqrt(5.0)));
  // The distances from the median, 50, are 50, 0, 25, 50, 30.
  CHECK(rates.jitter == doctest::Approx(1.4826 * 30));
  CHECK(step_rates(8, {0.5}).mean == doctest::Approx(16));
  CHECK(step_rates(8, {0.5}).jitter == 0);
  CHECK_THROWS_AS(step_rates(8, {}), towerflow::ValueError);
}
