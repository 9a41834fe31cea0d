#include "data/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace towerflow::data {
namespace {

Array bits16(DType dtype, const std::vector<std::uint16_t>& bits) {
  Array array(dtype, Shape{bits.size()});
  std::memcpy(array.raw(), bits.data(), array.bytes());
  return array;
}

TEST_CASE("statistics: one pass gives what two give") {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(1e6 + std::sin(i) * (i % 7));
  double sum = 0, squares = 0;
  Statistics statistics;
  for (const double value : values) {
    sum += value;
    statistics.add(value);
  }
  for (const double value : values) squares += (value - sum / 1000) * (value - sum / 1000);
  CHECK(statistics.mean() == doctest::Approx(sum / 1000).epsilon(1e-14));
  CHECK(statistics.standard_deviation() ==
        doctest::Approx(std::sqrt(squares / 1000)).epsilon(1e-9));
  CHECK(statistics.min() == *std::min_element(values.begin(), values.end()));
  CHECK(statistics.max() == *std::max_element(values.begin(), values.end()));
  CHECK(statistics.count() == 1000);
}

TEST_CASE("statistics: what is not finite is counted apart; nothing gives zeros") {
  const Statistics none;
  CHECK(none.count() == 0);
  CHECK((none.min() == 0 && none.max() == 0 && none.mean() == 0));
  CHECK(none.standard_deviation() == 0);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Statistics some = statistics_of(
      Array::of<float>({6}, std::vector<float>{2, NAN, -kInfinity, 0, kInfinity, -0.0F}));
  CHECK(some.count() == 6);
  CHECK(some.finite() == 3);
  CHECK(some.nan() == 1);
  CHECK(some.infinite() == 2);
  CHECK(some.zeros() == 2);
  CHECK((some.min() == 0 && some.max() == 2));
  const Statistics only_nan = statistics_of(Array::scalar(NAN));
  CHECK((only_nan.min() == 0 && only_nan.max() == 0 && only_nan.mean() == 0));
}

TEST_CASE("statistics: every dtype of numbers") {
  const Statistics wide = statistics_of(Array::of<std::int64_t>(
      {2}, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min() + 1}));
  CHECK(static_cast<std::int64_t>(wide.max()) == std::numeric_limits<std::int64_t>::max());
  CHECK(static_cast<std::int64_t>(wide.min()) == std::numeric_limits<std::int64_t>::min() + 1);
  Array bools(DType::bool_, {4});
  for (int i = 0; i < 4; ++i) bools.data<bool>()[i] = i != 2;
  const Statistics truths = statistics_of(bools);
  CHECK(truths.mean() == 0.75);
  CHECK(truths.zeros() == 1);

  // One, the smallest and the largest positive float16, minus two, minus infinity, NaN, minus zero.
  const Statistics half = statistics_of(
      bits16(DType::float16, {0x3c00, 0x0001, 0x7bff, 0xc000, 0xfc00, 0x7e00, 0x8000}));
  CHECK(half.max() == 65504);
  CHECK(half.min() == -2);
  CHECK((half.infinite() == 1 && half.nan() == 1 && half.zeros() == 1));
  CHECK(half.mean() == doctest::Approx((1 + std::ldexp(1, -24) + 65504 - 2) / 5).epsilon(1e-15));
  const Statistics brain = statistics_of(bits16(DType::bfloat16, {0x3f80, 0xc040, 0x7f80, 0x7fc0}));
  CHECK((brain.max() == 1 && brain.min() == -3));
  CHECK((brain.infinite() == 1 && brain.nan() == 1));

  CHECK(statistics_of(Array(DType::string, {3})).count() == 0);
  CHECK(statistics_of(Array::zeros(DType::complex64, {3})).count() == 0);
}

}  // namespace
}  // namespace towerflow::data
