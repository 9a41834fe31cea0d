#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/session.h"

namespace towerflow::types {

/// The times of benchmark runs.
struct BenchResult {
  std::vector<double> seconds;  ///< per run, the mean of each window
  std::vector<Array> values;    ///< of the last run, in the order of the fetches

  double median() const { return quantile(0.5); }
  /// Returns the time below which a share `q` of the windows was. Throws ValueError if there are no
  /// windows.
  double quantile(double q) const;
  /// Returns "1.25 ms a run (1.20 to 1.41 in the middle 80 % of 20 windows)".
  std::string text() const;
};

}  // namespace towerflow::types

namespace towerflow {

struct BenchOptions {
  Feeds feeds{};
  int windows = 20;  ///< each is timed as a whole
  int steps = 10;    ///< runs per window
  int warm_up = 10;  ///< runs before the first window
  /// Called after each window with the number of windows done.
  std::function<void(int done)> on_window{};
};

/// Times runs in windows of some steps, through one Callable, so that plan lookup is not timed.
/// Every run, warm-up included, has the fetches' side effects.
///
/// errors   what a run of the fetches throws; ValueError: no windows, or windows without steps
BenchResult bench(Session& session, std::span<const Fetch> fetches,
                  const BenchOptions& options = {});
inline BenchResult bench(Session& session, std::initializer_list<Fetch> fetches,
                         const BenchOptions& options = {}) {
  return bench(session, std::span(fetches.begin(), fetches.size()), options);
}
template <FetchLike T>
BenchResult bench(Session& session, const std::vector<T>& fetches, const BenchOptions& options = {},
                  Site site = Site::current()) {
  return bench(session, std::span<const Fetch>(to_fetches(fetches, site)), options);
}

}  // namespace towerflow
