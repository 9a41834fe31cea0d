#include <doctest/doctest.h>

#include <cmath>

#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::Loops;
using testing::all_levels;
using testing::random_floats;
using testing::same_numbers;

// A matrix, a gradient of one, and the parameters of their columns.
struct Columns {
  std::int64_t rows, columns;
  std::size_t width = static_cast<std::size_t>(columns);
  std::vector<float> x = random_floats(width * static_cast<std::size_t>(rows), 1);
  std::vector<float> dy = random_floats(width * static_cast<std::size_t>(rows), 2);
  std::vector<float> mean = random_floats(width, 3), factor = random_floats(width, 4);
  std::vector<float> shift = random_floats(width, 5), slope = random_floats(width, 6);

  double at(const std::vector<float>& values, std::size_t i) const {
    return static_cast<double>(values[i]);
  }
};

// Calls `check(loops, columns)` for matrices with whole and partial blocks, vectors and pairs.
template <class Check>
void for_matrices(const Check& check) {
  for (const std::int64_t columns : {1, 3, 16, 31, 64, 65, 100, 128, 200, 1030})
    for (const std::int64_t rows : {0, 1, 2, 63, 64, 65, 129}) {
      CAPTURE(columns);
      CAPTURE(rows);
      for (const Loops* loops : all_levels()) {
        CAPTURE(simd::level_name(loops->level));
        check(*loops, Columns{rows, columns});
      }
    }
}

TEST_CASE("moments of columns, in one call and continued") {
  for_matrices([](const Loops& loops, const Columns& m) {
    std::vector<double> mean(m.width), squares(m.width), continued(mean), more(squares);
    loops.normalization.moments(m.x.data(), m.rows, m.columns, 0, mean.data(), squares.data());
    const std::int64_t first = m.rows / 3;
    loops.normalization.moments(m.x.data(), first, m.columns, 0, continued.data(), more.data());
    loops.normalization.moments(m.x.data() + first * m.columns, m.rows - first, m.columns, first,
                                continued.data(), more.data());
    double error = 0;
    for (std::size_t c = 0; c < m.width; ++c) {
      double sum = 0, square = 0;
      for (std::size_t i = c; i < m.x.size(); i += m.width) sum += m.at(m.x, i);
      const double center = m.rows == 0 ? 0 : sum / static_cast<double>(m.rows);
      for (std::size_t i = c; i < m.x.size(); i += m.width)
        square += (m.at(m.x, i) - center) * (m.at(m.x, i) - center);
      for (const double found : {mean[c], continued[c]})
        error = std::max(error, std::abs(found - center));
      for (const double found : {squares[c], more[c]})
        error = std::max(error, std::abs(found - square) / (1 + square));
    }
    CHECK(error < 1e-6);
  });
}

TEST_CASE("columns are normalized, also in place") {
  for_matrices([](const Loops& loops, const Columns& m) {
    std::vector<float> y(m.x.size()), in_place = m.x;
    const auto normalize = [&](const float* x, float* to) {
      loops.normalization.normalize(x, m.mean.data(), m.factor.data(), m.shift.data(), to, m.rows,
                                    m.columns);
    };
    normalize(m.x.data(), y.data());
    normalize(in_place.data(), in_place.data());
    CHECK(same_numbers(y, in_place));
    double error = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t c = i % m.width;
      const double wanted = (m.at(m.x, i) - m.at(m.mean, c)) * m.at(m.factor, c) + m.at(m.shift, c);
      error = std::max(error, std::abs(m.at(y, i) - wanted));
    }
    CHECK(error < 1e-6);
  });
}

TEST_CASE("sums for the gradient of a normalization are added to those before") {
  for_matrices([](const Loops& loops, const Columns& m) {
    std::vector<double> sums(m.width, 0.5), products(m.width, -0.5);
    loops.normalization.gradient_sums(m.dy.data(), m.x.data(), m.mean.data(), m.rows, m.columns,
                                      sums.data(), products.data());
    double error = 0;
    for (std::size_t c = 0; c < m.width; ++c) {
      double sum = 0.5, product = -0.5;
      for (std::size_t i = c; i < m.x.size(); i += m.width) {
        sum += m.at(m.dy, i);
        product += m.at(m.dy, i) * (m.at(m.x, i) - m.at(m.mean, c));
      }
      error = std::max({error, std::abs(sum - sums[c]), std::abs(product - products[c])});
    }
    CHECK(error < 1e-4);
  });
}

TEST_CASE("the gradient of a normalization, also in place of x or dy") {
  for_matrices([](const Loops& loops, const Columns& m) {
    std::vector<float> dx(m.x.size()), for_x = m.x, for_dy = m.dy;
    const auto gradient = [&](const float* dy, const float* x, float* to) {
      loops.normalization.gradient(dy, x, m.mean.data(), m.shift.data(), m.slope.data(),
                                   m.factor.data(), to, m.rows, m.columns);
    };
    gradient(m.dy.data(), m.x.data(), dx.data());
    gradient(m.dy.data(), for_x.data(), for_x.data());
    gradient(for_dy.data(), m.x.data(), for_dy.data());
    CHECK(same_numbers(dx, for_x));
    CHECK(same_numbers(dx, for_dy));
    double error = 0;
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const std::size_t c = i % m.width;
      const double centred = m.at(m.x, i) - m.at(m.mean, c);
      const double wanted =
          (m.at(m.dy, i) - m.at(m.shift, c) - centred * m.at(m.slope, c)) * m.at(m.factor, c);
      error = std::max(error, std::abs(m.at(dx, i) - wanted));
    }
    CHECK(error < 1e-6);
  });
}

}  // namespace
}  // namespace towerflow
