#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace towerflow::cuda::testing {

/// Numbers in [low, high), the same at each call.
template <class T>
std::vector<T> numbers(std::size_t n, double low = -2, double high = 2, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> values(n);
  for (T& value : values) value = static_cast<T>(uniform(random));
  return values;
}

/// Returns 100, 101, .., which show where each came from.
inline std::vector<std::int32_t> ramp(std::size_t n) {
  std::vector<std::int32_t> values(n);
  std::iota(values.begin(), values.end(), 100);
  return values;
}

/// Whether a value agrees with the expected one: to 1e-5 of it, or of 1; NaN with NaN.
inline bool agrees(double value, double expected, double tolerance = 1e-5) {
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected)) return value == expected;
  return std::fabs(value - expected) <= tolerance * std::fmax(1, std::fabs(expected));
}

/// Checks all values; `expected(i)` is a double.
template <class T, class Expected>
void check_values(const std::vector<T>& values, Expected expected, double tolerance = 1e-5) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]), wanted = expected(i);
    if (agrees(value, wanted, tolerance)) continue;
    CAPTURE(i);
    CAPTURE(value);
    CAPTURE(wanted);
    FAIL_CHECK("a value is wrong");
    return;
  }
  CHECK_FALSE(values.empty());
}

}  // namespace towerflow::cuda::testing
