#include "report/step_rates.h"

#include <cmath>

#include "core/graph/error.h"
#include "report/quantile.h"

namespace towerflow::report {

StepRates step_rates(double examples, const std::vector<double>& seconds) {
  if (seconds.empty()) throw ValueError("there is no step");
  const auto count = static_cast<double>(seconds.size());
  std::vector<double> rates;
  double total = 0, sum = 0, squares = 0;
  for (const double step : seconds) {
    total += step;
    rates.push_back(examples / step);
    sum += rates.back();
  }
  for (const double rate : rates) squares += (rate - sum / count) * (rate - sum / count);
  const double middle = quantile(rates, 0.5);
  std::vector<double> distances;
  for (const double rate : rates) distances.push_back(std::abs(rate - middle));
  return {.mean = examples * count / total,
          .uncertainty = std::sqrt(squares / count) / std::sqrt(count),
          .jitter = 1.4826 * quantile(std::move(distances), 0.5)};
}

}  // namespace towerflow::report
