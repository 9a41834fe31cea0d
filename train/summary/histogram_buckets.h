#pragma once

#include <cstddef>
#include <vector>

#include "train/summary/event.h"

namespace towerflow::summary {

/// A histogram in TensorFlow's default buckets, whose limits grow by 10 % from 1e-12 to 1e20 on
/// both sides of zero. Values are summed in the order they are added, so that the sums equal
/// TensorFlow's bit for bit. (tensorflow::histogram::Histogram)
class HistogramBuckets {
 public:
  HistogramBuckets();

  void add(double value);
  /// Returns the histogram with each run of empty buckets merged into one.
  HistogramData data() const;

 private:
  HistogramData totals_;  ///< without buckets
  std::vector<double> counts_;
};

}  // namespace towerflow::summary
