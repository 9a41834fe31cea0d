#include <doctest/doctest.h>

#include <cmath>

#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::ColumnSums;
using simd::Loops;
using testing::kCounts;
using testing::largest_error;
using testing::random_floats;
using testing::run_on_all_levels;
using testing::same_numbers;
using testing::special_floats;

// Adds in the order that the header specifies, one element at a time.
float wanted_sum(const std::vector<float>& x, bool squares) {
  float sum = 0.0f;
  for (std::size_t begin = 0; begin < x.size(); begin += 4096) {
    float lanes[16] = {};
    for (std::size_t i = begin; i < std::min(begin + 4096, x.size()); ++i)
      lanes[(i - begin) % 16] += squares ? x[i] * x[i] : x[i];
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    sum += lanes[0];
  }
  return sum;
}

TEST_CASE("sums over windows, in order") {
  for (const std::size_t n : kCounts) {
    for (const std::size_t window : {1, 2, 11}) {
      CAPTURE(n);
      CAPTURE(window);
      const auto x = testing::special_floats(n + window - 1, 3);
      std::vector<float> wanted(n);
      for (std::size_t i = 0; i < n; ++i) {
        wanted[i] = x[i];
        for (std::size_t k = 1; k < window; ++k) wanted[i] += x[i + k];
      }
      CHECK(testing::same_numbers(wanted, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                                    loops.window_sums(x.data(), static_cast<std::int64_t>(window),
                                                      out, static_cast<std::int64_t>(n));
                                  })));
    }
  }
}

TEST_CASE("the largest and the smallest: NaN wins, and of none there is infinity") {
  for (const std::size_t n : kCounts) {
    CAPTURE(n);
    const auto count = static_cast<std::int64_t>(n);
    for (const bool with_nan : {false, true}) {
      auto x = random_floats(n, 5);
      if (with_nan && n > 0) x[n / 2] = std::nanf("");
      float largest = -INFINITY, smallest = INFINITY;
      for (const float v : x) {
        largest = std::isnan(largest) || largest > v ? largest : v;
        smallest = std::isnan(smallest) || smallest < v ? smallest : v;
      }
      CHECK(same_numbers({largest}, run_on_all_levels(1, [&](const Loops& loops, float* out) {
                           *out = loops.max(x.data(), count);
                         })));
      CHECK(same_numbers({smallest}, run_on_all_levels(1, [&](const Loops& loops, float* out) {
                           *out = loops.min(x.data(), count);
                         })));
    }
  }
}

TEST_CASE("sum and sum of squares: fixed lanes, near the exact value") {
  for (const std::size_t n : {0, 1, 5, 16, 17, 100, 4095, 4096, 4097, 100003}) {
    CAPTURE(n);
    const auto count = static_cast<std::int64_t>(n);
    const auto x = random_floats(n, 1);
    double exact = 0.0, exact_squares = 0.0;
    for (const float v : x) exact += v, exact_squares += static_cast<double>(v) * v;
    const auto sum = run_on_all_levels(
        1, [&](const Loops& loops, float* out) { *out = loops.sum(x.data(), count); });
    const auto squares = run_on_all_levels(
        1, [&](const Loops& loops, float* out) { *out = loops.sum_squares(x.data(), count); });
    CHECK(sum[0] == wanted_sum(x, false));
    CHECK(squares[0] == wanted_sum(x, true));
    CHECK(std::abs(sum[0] - exact) <= 1e-6 * std::sqrt(n + 1.0));
    CHECK(std::abs(squares[0] - exact_squares) <= 1e-6 * (exact_squares + 1));
  }
}

TEST_CASE("sums of arrays run in the order of the arrays and are divided once") {
  for (const std::size_t n : kCounts)
    for (const int arrays : {1, 2, 3}) {
      const auto a = special_floats(n, 1), b = special_floats(n, 2), c = random_floats(n, 3);
      const float* in[] = {a.data(), b.data(), c.data()};
      for (const float divisor : {1.0f, static_cast<float>(arrays)}) {
        std::vector<float> wanted(n);
        for (std::size_t i = 0; i < n; ++i) {
          float sum = a[i];
          if (arrays > 1) sum += b[i];
          if (arrays > 2) sum += c[i];
          wanted[i] = sum / divisor;
        }
        const auto count = static_cast<std::int64_t>(n);
        CHECK(same_numbers(wanted, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                             loops.sum_arrays(in, arrays, divisor, out, count);
                           })));
        CHECK(same_numbers(wanted, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                             std::copy(a.begin(), a.end(), out);
                             const float* in_place[] = {out, b.data(), c.data()};
                             loops.sum_arrays(in_place, arrays, divisor, out, count);
                           })));
      }
    }
}

TEST_CASE("column sums: any grouping of rows gives the same bits, wherever rows lie") {
  for (const std::int64_t columns : {1, 3, 8, 10, 16, 32, 64, 100, 300})
    for (const std::int64_t rows : {0, 1, 127, 128, 129, 700, 1100}) {
      CAPTURE(columns);
      CAPTURE(rows);
      const auto width = static_cast<std::size_t>(columns);
      const auto x = random_floats(static_cast<std::size_t>(rows) * width, 1);
      std::vector<double> exact(width, 0.0);
      for (std::size_t i = 0; i < x.size(); ++i) exact[i % width] += x[i];
      std::vector<float> first, apart(static_cast<std::size_t>(rows * (columns + 5)), 3e9f);
      for (std::int64_t r = 0; r < rows; ++r)
        std::copy_n(x.data() + r * columns, columns, apart.data() + r * (columns + 5));
      for (const std::int64_t at_once : {1, 56, 128, 1000, 2000}) {
        const std::int64_t stride = at_once % 128 != 0 ? columns + 5 : columns;
        const float* const from = at_once % 128 != 0 ? apart.data() : x.data();
        const auto sums = run_on_all_levels(width, [&](const Loops& loops, float* out) {
          std::vector<float> block(width);
          ColumnSums state{out, block.data(), 0};
          loops.column_sums_begin(&state, columns);
          for (std::int64_t r = 0; r < rows; r += at_once)
            loops.column_sums_add(&state, from + r * stride, std::min(at_once, rows - r), stride,
                                  columns);
          loops.column_sums_end(&state, columns);
        });
        if (first.empty()) first = sums;
        CHECK(same_numbers(sums, first));
      }
      CHECK(largest_error(first, exact, 10.0) < 2e-6);
    }
}

}  // namespace
}  // namespace towerflow
