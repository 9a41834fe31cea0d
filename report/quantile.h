#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace towerflow::report {

/// Returns the value below which a share `q` of `values` is, interpolated between two values if
/// necessary; `values` must not be empty.
inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace towerflow::report
