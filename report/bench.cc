#include "report/bench.h"

#include <fmt/format.h>

#include <chrono>

#include "report/quantile.h"

namespace towerflow {

namespace types {

double BenchResult::quantile(double q) const {
  if (seconds.empty()) throw ValueError("a quantile of no windows");
  return report::quantile(seconds, q);
}

std::string BenchResult::text() const {
  return fmt::format("{:.3g} ms a run ({:.3g} to {:.3g} in the middle 80 % of {} windows)",
                     1e3 * median(), 1e3 * quantile(0.1), 1e3 * quantile(0.9), seconds.size());
}

}  // namespace types

BenchResult bench(Session& session, std::span<const Fetch> fetches, const BenchOptions& options) {
  if (options.windows < 1 || options.steps < 1 || options.warm_up < 0) {
    throw ValueError(fmt::format("bench: {} windows of {} steps after {} others", options.windows,
                                 options.steps, options.warm_up));
  }
  std::vector<Tensor> fed;
  std::vector<Array> values;
  for (const Feed& feed : options.feeds) {
    fed.push_back(feed.tensor());
    values.push_back(feed.value());
  }
  const Callable step = session.make_callable({fetches.begin(), fetches.end()}, fed);
  BenchResult result;
  std::span<const Array> last;
  for (int i = 0; i < options.warm_up; ++i) last = step(values);
  for (int window = 0; window < options.windows; ++window) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < options.steps; ++i) last = step(values);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    result.seconds.push_back(seconds.count() / options.steps);
    if (options.on_window) options.on_window(window + 1);
  }
  result.values.assign(last.begin(), last.end());
  return result;
}

}  // namespace towerflow
