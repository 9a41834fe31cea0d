#include <doctest/doctest.h>

#include <cmath>

#include "ops/reference/softmax.h"
#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::Loops;
using testing::largest_error;
using testing::on_all_levels;
using testing::random_floats;
using testing::same_numbers;

// Distance in units in the last place of the result.
double ulps(float got, double wanted) {
  const float rounded = static_cast<float>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0.0 : 1e9;
  const double unit =
      std::max(static_cast<double>(std::nextafter(std::abs(rounded), INFINITY) - std::abs(rounded)),
               static_cast<double>(std::numeric_limits<float>::denorm_min()));
  return std::abs(got - wanted) / unit;
}

TEST_CASE("exp is within 1.5 units in the last place over its whole range") {
  std::vector<float> x;
  for (double v = -110.0; v < 90.0; v += 0.0007) x.push_back(static_cast<float>(v));
  const auto count = static_cast<std::int64_t>(x.size());
  const auto y = on_all_levels(
      x.size(), [&](const Loops& loops, float* out) { loops.exp(x.data(), out, count); });
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, ulps(y[i], std::exp(static_cast<double>(x[i]))));
  MESSAGE("largest error of exp: ", worst, " units in the last place");
  CHECK(worst < 1.5);
}

TEST_CASE("exp of special numbers, and of counts that are no multiple of the registers") {
  for (const std::size_t n : {1, 5, 13, 16, 21}) {
    const std::vector<float> x = {NAN,    INFINITY, -INFINITY, 0.0f,    -0.0f, 88.7f, 89.0f,
                                  -1e30f, 1e30f,    -103.0f,   -104.5f, 1.0f,  2.0f,  3.0f,
                                  4.0f,   5.0f,     6.0f,      NAN,     7.0f,  8.0f,  9.0f};
    const auto y = on_all_levels(n, [&](const Loops& loops, float* out) {
      loops.exp(x.data(), out, static_cast<std::int64_t>(n));
    });
    for (std::size_t i = 0; i < n; ++i) {
      CAPTURE(x[i]);
      if (std::isnan(x[i]))
        CHECK(std::isnan(y[i]));
      else
        CHECK(ulps(y[i], std::exp(static_cast<double>(x[i]))) < 1.5);
    }
  }
}

TEST_CASE("softmax cross entropy agrees with float64, in place as well") {
  for (const std::int64_t classes : {1, 2, 10, 16, 17, 63, 64, 65, 1001}) {
    CAPTURE(classes);
    const std::int64_t rows = 7;
    const auto size = static_cast<std::size_t>(rows * classes);
    auto logits = random_floats(size, 3);
    for (std::size_t i = 0; i < size; ++i) logits[i] *= i % 3 == 0 ? 30.0f : 3.0f;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back(i * 5 % classes);
    std::vector<double> loss(rows), gradient(size);
    reference::sparse_softmax_xent(rows, classes, logits.data(), labels.data(), loss.data(),
                                   gradient.data());
    const auto got_loss = on_all_levels(rows, [&](const Loops& loops, float* out) {
      loops.softmax_xent(logits.data(), labels.data(), out, nullptr, 3, rows, classes);
      loops.softmax_xent(logits.data(), labels.data(), out, nullptr, 0, 3, classes);
    });
    CHECK(largest_error(got_loss, loss, 0.1) < 1e-6);
    std::vector<float> both_loss(rows);
    const auto got = on_all_levels(size, [&](const Loops& loops, float* out) {
      loops.softmax_xent(logits.data(), labels.data(), both_loss.data(), out, 0, rows, classes);
      CHECK(same_numbers(both_loss, got_loss));
    });
    CHECK(largest_error(got, gradient, 0.1) < 2e-6);
    CHECK(same_numbers(got, on_all_levels(size, [&](const Loops& loops, float* out) {
                         std::copy(logits.begin(), logits.end(), out);
                         loops.softmax_xent(out, labels.data(), nullptr, out, 0, rows, classes);
                       })));
  }
}

TEST_CASE("NaN and infinity in a row of logits") {
  const std::vector<float> logits = {NAN,      1.0f, 2.0f, 1.0f,      2.0f, NAN,
                                     INFINITY, 1.0f, 2.0f, -INFINITY, 0.0f, -INFINITY};
  const std::int64_t labels[] = {0, 1, 0, 0};
  std::vector<float> loss(4);
  const auto gradient = on_all_levels(12, [&](const Loops& loops, float* out) {
    loops.softmax_xent(logits.data(), labels, loss.data(), out, 0, 4, 3);
  });
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::isnan(gradient[i]));
  CHECK((std::isnan(loss[0]) && std::isnan(loss[1]) && std::isnan(loss[2])));
  CHECK(std::isinf(loss[3]));
  CHECK(std::vector<float>(gradient.begin() + 9, gradient.end()) ==
        std::vector<float>{-1.0f, 1.0f, 0.0f});
}

}  // namespace
}  // namespace towerflow
