#pragma once

#include <cstdint>
#include <limits>

#include "core/graph/array.h"

namespace towerflow::data {

/// Range, mean and spread of a sequence of numbers, in one pass and fixed memory (Welford's
/// method). NaN and infinite values are counted but otherwise left out.
class Statistics {
 public:
  /// 64-bit integers are exact in `min` and `max` if long double can represent them.
  void add(long double value);

  std::uint64_t count() const { return finite_ + nan_ + infinite_; }
  std::uint64_t finite() const { return finite_; }
  std::uint64_t nan() const { return nan_; }
  std::uint64_t infinite() const { return infinite_; }
  std::uint64_t zeros() const { return zeros_; }

  /// Of the finite values; 0 if there are none.
  long double min() const { return finite_ > 0 ? min_ : 0; }
  long double max() const { return finite_ > 0 ? max_ : 0; }
  double mean() const { return mean_; }
  /// The population standard deviation of the finite values.
  double standard_deviation() const;

 private:
  std::uint64_t finite_ = 0, nan_ = 0, infinite_ = 0, zeros_ = 0;
  long double min_ = std::numeric_limits<long double>::infinity();
  long double max_ = -std::numeric_limits<long double>::infinity();
  double mean_ = 0;
  double squares_ = 0;  ///< sum of squared distances from the mean
};

/// Returns the statistics of a dense array's elements, of any numeric or bool dtype (false and true
/// count as 0 and 1). Strings and complex numbers are not counted.
Statistics statistics_of(const Array& array);

}  // namespace towerflow::data
