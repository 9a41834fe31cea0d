#include "data/statistics.h"

#include <cmath>

#include "core/graph/short_float.h"

namespace towerflow::data {

void Statistics::add(long double value) {
  if (std::isnan(value)) {
    ++nan_;
    return;
  }
  if (std::isinf(value)) {
    ++infinite_;
    return;
  }
  ++finite_;
  if (value == 0) ++zeros_;
  if (value < min_) min_ = value;
  if (value > max_) max_ = value;
  const auto narrow = static_cast<double>(value);
  const double from_old = narrow - mean_;
  mean_ += from_old / static_cast<double>(finite_);
  squares_ += from_old * (narrow - mean_);
}

double Statistics::standard_deviation() const {
  return finite_ > 0 ? std::sqrt(squares_ / static_cast<double>(finite_)) : 0;
}

Statistics statistics_of(const Array& array) {
  Statistics statistics;
  const auto elements = static_cast<std::size_t>(array.elements());
  if (is_short_float(array.dtype())) {
    const auto convert = array.dtype() == DType::float16 ? float16_to_float : bfloat16_to_float;
    const auto* bits = static_cast<const std::uint16_t*>(array.raw());
    for (std::size_t i = 0; i < elements; ++i) statistics.add(convert(bits[i]));
    return statistics;
  }
  dispatch_dtype(array.dtype(), [&]<class T>() {
    const auto* values = static_cast<const T*>(array.raw());
    for (std::size_t i = 0; i < elements; ++i) statistics.add(static_cast<long double>(values[i]));
  });
  return statistics;
}

}  // namespace towerflow::data
