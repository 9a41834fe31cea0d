#pragma once

#include <cstddef>
#include <vector>

#include "train/summary/event.h"

namespace towerflow::summary {

/// TensorFlow's default buckets, whose limits grow by 10 % from 1e-12 to 1e20 on both sides of
/// zero, filled value by value: sums are in the order of the values, so that they are
/// TensorFlow's to the bit. (tensorflow::histogram::Histogram)
class HistogramBuckets {
 public:
  HistogramBuckets();

  void add(double value);
  /// With each run of empty buckets as one.
  HistogramData data() const;

 private:
  HistogramData totals_;  ///< without buckets
  std::vector<double> counts_;
};

}  // namespace towerflow::summary
