// Check values of tests/golden/README.md and summaries of tests/golden/mnist/towers_1.json.

#include "tests/support/exact_array.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace towerflow::test {
namespace {

template <class T>
std::vector<double> first_three(const Array& array) {
  const T* data = array.data<T>();
  return {static_cast<double>(data[0]), static_cast<double>(data[1]), static_cast<double>(data[2])};
}

TEST_CASE("generated arrays have the stated elements") {
  CHECK(exact_hash(7, 0) == 0xB8B4C2977EABCE45U);
  // h(0, i) = splitmix64(splitmix64(0) + i); this i makes the sum 0, so h is splitmix64(0).
  CHECK(exact_hash(0, 0 - 0xE220A8397B1DCDAFU) == 0xE220A8397B1DCDAFU);
  CHECK(first_three<float>(exact_array(7, Shape{3})) ==
        std::vector<double>{0.44301629066467285, -0.6882119178771973, 0.748726487159729});
  CHECK(
      first_three<float>(exact_array(7, Shape{3}, {.exponent = 2, .kind = ExactKind::positive})) ==
      std::vector<double>{2.886032819747925, 0.6235764026641846, 3.497453212738037});
  CHECK(first_three<std::int32_t>(exact_integers(7, Shape{3}, 10)) == std::vector<double>{1, 7, 7});
  const Array wide = exact_array(7, Shape{3, 5}, {.dtype = DType::float64});
  CHECK(wide.shape() == Shape{3, 5});
  CHECK(first_three<double>(wide) == first_three<float>(exact_array(7, Shape{3})));
  CHECK(first_three<std::int64_t>(exact_integers(7, Shape{4}, 10, DType::int64))[1] == 7);
}

TEST_CASE("summaries are those of the files of MNIST parity") {
  const Array weights = exact_array(1000000, Shape{5, 5, 1, 32}, {.exponent = -2});
  CHECK(first_three<float>(weights)[0] == 0.19672459363937378);
  CHECK(first_three<float>(weights)[1] == -0.23916590213775635);
  const Summary summary = summarize(weights);
  CHECK(summary.norm == doctest::Approx(4.11824621).epsilon(1e-8));
  CHECK(summary.sum == doctest::Approx(-5.06822288).epsilon(1e-8));
  CHECK(summary.projections[0] == doctest::Approx(9.46022999).epsilon(1e-8));
  CHECK(summary.projections[15] == doctest::Approx(-2.20307648).epsilon(1e-8));
  CHECK(summary.probes[0] == doctest::Approx(0.086292356).epsilon(1e-7));
  CHECK(summary.probes[23] == doctest::Approx(0.24928284).epsilon(1e-7));
  const Array biases =
      exact_array(1000007, Shape{10}, {.exponent = 1, .kind = ExactKind::positive});
  CHECK(first_three<float>(biases)[0] == 1.1174830198287964);
  CHECK(first_three<float>(biases)[1] == 0.6391488313674927);
}

TEST_CASE("the distance of summaries estimates the relative difference of tensors") {
  const Array ours = exact_array(5, Shape{1000});
  Array off = ours.copy();
  const Array noise = exact_array(6, Shape{1000}, {.exponent = -10});
  for (int i = 0; i < 1000; ++i) off.data<float>()[i] += noise.data<float>()[i];
  const double estimate = distance(summarize(off), summarize(ours));
  CHECK(estimate > 0.5 / 1024);
  CHECK(estimate < 2.0 / 1024);
  CHECK(distance(summarize(ours), summarize(ours)) == 0);
  const Array zero = Array::zeros(DType::float32, Shape{1000});
  CHECK(distance(summarize(zero), summarize(zero)) == 0);
  CHECK(std::isinf(distance(summarize(ours), summarize(zero))));
  off.data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(distance(summarize(off), summarize(ours))));
}

}  // namespace
}  // namespace towerflow::test
