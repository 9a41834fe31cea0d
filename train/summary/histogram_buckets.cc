#include "train/summary/histogram_buckets.h"

#include <algorithm>
#include <limits>

namespace towerflow::summary {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

std::vector<double> default_limits() {
  std::vector<double> limits{0.0};
  for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) {
    limits.push_back(limit);
    limits.push_back(-limit);
  }
  limits.push_back(kLargest);
  limits.push_back(-kLargest);
  std::sort(limits.begin(), limits.end());
  return limits;
}

const std::vector<double>& limits() {
  static const std::vector<double> limits = default_limits();
  return limits;
}

}  // namespace

HistogramBuckets::HistogramBuckets()
    : totals_{.min = kLargest, .max = -kLargest}, counts_(limits().size()) {}

void HistogramBuckets::add(double value) {
  const auto above = std::upper_bound(limits().begin(), limits().end(), value);
  // The largest double is not below the last limit but belongs in the last bucket.
  const auto bucket = std::min<std::ptrdiff_t>(above - limits().begin(),
                                               static_cast<std::ptrdiff_t>(counts_.size()) - 1);
  counts_[static_cast<std::size_t>(bucket)] += 1.0;
  totals_.min = std::min(totals_.min, value);
  totals_.max = std::max(totals_.max, value);
  totals_.num += 1.0;
  totals_.sum += value;
  totals_.sum_squares += value * value;
}

HistogramData HistogramBuckets::data() const {
  HistogramData data = totals_;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] <= 0.0) {
      while (i + 1 < counts_.size() && counts_[i + 1] <= 0.0) ++i;
    }
    data.bucket_limit.push_back(limits()[i]);
    data.bucket.push_back(counts_[i]);
  }
  return data;
}

}  // namespace towerflow::summary
