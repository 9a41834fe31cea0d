#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "ops/reference/softmax.h"
#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::Loops;
using testing::largest_error;
using testing::random_floats;
using testing::run_on_all_levels;
using testing::same_numbers;

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
    const auto got_loss = run_on_all_levels(rows, [&](const Loops& loops, float* out) {
      loops.softmax_xent(logits.data(), labels.data(), out, nullptr, 3, rows, classes);
      loops.softmax_xent(logits.data(), labels.data(), out, nullptr, 0, 3, classes);
    });
    CHECK(largest_error(got_loss, loss, 0.1) < 1e-6);
    std::vector<float> both_loss(rows);
    const auto got = run_on_all_levels(size, [&](const Loops& loops, float* out) {
      loops.softmax_xent(logits.data(), labels.data(), both_loss.data(), out, 0, rows, classes);
      CHECK(same_numbers(both_loss, got_loss));
    });
    CHECK(largest_error(got, gradient, 0.1) < 2e-6);
    CHECK(same_numbers(got, run_on_all_levels(size, [&](const Loops& loops, float* out) {
                         std::copy(logits.begin(), logits.end(), out);
                         loops.softmax_xent(out, labels.data(), nullptr, out, 0, rows, classes);
                       })));
  }
}

TEST_CASE("softmax and its logarithm agree with float64, in place as well") {
  for (const std::int64_t classes : {1, 2, 10, 16, 17, 100, 257, 5000}) {
    CAPTURE(classes);
    const std::int64_t rows = 3;
    const auto size = static_cast<std::size_t>(rows * classes);
    auto x = random_floats(size, 3);
    for (std::size_t i = 0; i < size; ++i) x[i] *= i % 3 == 0 ? 30.0f : 3.0f;
    std::vector<double> probabilities, logarithms;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* at = x.data() + row * classes;
      const double most = *std::max_element(at, at + classes);
      double sum = 0;
      for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(at[i] - most);
      for (std::int64_t i = 0; i < classes; ++i) {
        probabilities.push_back(std::exp(at[i] - most) / sum);
        logarithms.push_back(at[i] - most - std::log(sum));
      }
    }
    const auto check = [&](auto loop, const std::vector<double>& expected) {
      const auto got = run_on_all_levels(size, [&](const Loops& loops, float* out) {
        (loops.*loop)(x.data(), out, rows, classes);
      });
      CHECK(largest_error(got, expected, 0.1) < 2e-6);
      CHECK(same_numbers(got, run_on_all_levels(size, [&](const Loops& loops, float* out) {
                           std::copy(x.begin(), x.end(), out);
                           (loops.*loop)(out, out, rows, classes);
                         })));
    };
    check(&Loops::softmax, probabilities);
    check(&Loops::log_softmax, logarithms);
  }
}

TEST_CASE("NaN and infinity in a row of logits") {
  const std::vector<float> logits = {NAN,      1.0f, 2.0f, 1.0f,      2.0f, NAN,
                                     INFINITY, 1.0f, 2.0f, -INFINITY, 0.0f, -INFINITY};
  const std::int64_t labels[] = {0, 1, 0, 0};
  std::vector<float> loss(4);
  const auto gradient = run_on_all_levels(12, [&](const Loops& loops, float* out) {
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
