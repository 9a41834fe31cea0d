#include "data/statistics.h"

#include <bit>
#include <cmath>

namespace towerflow::data {
namespace {

/// Converts from IEEE half precision.
float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  float size = 0;
  if (exponent == 0x1f)
    size = fraction == 0 ? std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  else if (exponent == 0)
    size = std::ldexp(static_cast<float>(fraction), -24);
  else
    size = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

/// Converts from bfloat16, the upper half of a float.
float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace

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
  if (array.dtype() == DType::float16 || array.dtype() == DType::bfloat16) {
    const auto convert = array.dtype() == DType::float16 ? from_half : from_bfloat16;
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
