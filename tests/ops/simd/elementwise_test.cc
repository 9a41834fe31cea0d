#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::Binary;
using simd::Loops;
using testing::kCounts;
using testing::random_floats;
using testing::run_on_all_levels;
using testing::same_numbers;
using testing::special_floats;

/// The operators that are exact; functions of two numbers follow them.
constexpr int kPlainBinaries = static_cast<int>(Binary::xlogy);

float wanted_binary(Binary op, float a, float b) {
  switch (op) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
    case Binary::maximum:
      return std::isnan(a) ? a : a > b ? a : b;
    case Binary::minimum:
      return std::isnan(a) ? a : a < b ? a : b;
    case Binary::div_no_nan:
      return b == 0 ? 0 : a / b;
    case Binary::floor_div:
      return std::floor(a / b);
    case Binary::truncate_div:
      return std::trunc(a / b);
    case Binary::xdivy:
      return a == 0 ? 0 : a / b;
    case Binary::xlogy:
    case Binary::xlog1py:
    case Binary::atan2:
      break;  // functions, which functions_test.cc tests
  }
  return 0.0f;
}

TEST_CASE("binary loops: both sides, a scalar on either side, in place") {
  for (int op = 0; op < kPlainBinaries; ++op)
    for (const std::size_t n : kCounts) {
      CAPTURE(op);
      CAPTURE(n);
      const auto count = static_cast<std::int64_t>(n);
      const auto a = special_floats(n, 1), b = special_floats(n, 3);
      const float scalar = 0.7f;
      std::vector<float> both(n), right(n), left(n);
      for (std::size_t i = 0; i < n; ++i) {
        both[i] = wanted_binary(static_cast<Binary>(op), a[i], b[i]);
        right[i] = wanted_binary(static_cast<Binary>(op), a[i], scalar);
        left[i] = wanted_binary(static_cast<Binary>(op), scalar, b[i]);
      }
      CHECK(same_numbers(both, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                           loops.binary[op](a.data(), b.data(), out, count);
                         })));
      CHECK(same_numbers(right, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                           loops.binary_scalar_right[op](a.data(), &scalar, out, count);
                         })));
      CHECK(same_numbers(left, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                           loops.binary_scalar_left[op](&scalar, b.data(), out, count);
                         })));
      CHECK(same_numbers(both, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                           std::copy(a.begin(), a.end(), out);
                           loops.binary[op](out, b.data(), out, count);
                         })));
    }
}

TEST_CASE("binary loops with one row for all rows") {
  for (const std::int64_t columns : {1, 3, 10, 16, 33})
    for (const std::int64_t rows : {0, 1, 7, 4500}) {
      CAPTURE(columns);
      CAPTURE(rows);
      const auto width = static_cast<std::size_t>(columns);
      const std::size_t n = static_cast<std::size_t>(rows) * width;
      const auto x = special_floats(n, 1), row = special_floats(width, 2);
      std::vector<float> right(n), left(n), with_relu(n);
      for (int op = 0; op < kPlainBinaries; ++op) {
        for (std::size_t i = 0; i < n; ++i) {
          right[i] = wanted_binary(static_cast<Binary>(op), x[i], row[i % width]);
          left[i] = wanted_binary(static_cast<Binary>(op), row[i % width], x[i]);
        }
        CHECK(same_numbers(right, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                             loops.binary_row_right[op](x.data(), row.data(), out, rows, columns);
                           })));
        CHECK(same_numbers(left, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                             loops.binary_row_left[op](row.data(), x.data(), out, rows, columns);
                           })));
      }
      for (std::size_t i = 0; i < n; ++i) {
        const float sum = x[i] + row[i % width];
        with_relu[i] = std::isnan(sum) || sum > 0 ? sum : 0.0f;
      }
      CHECK(same_numbers(with_relu, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                           std::copy(x.begin(), x.end(), out);
                           loops.add_row_relu(out, row.data(), out, rows, columns);
                         })));
    }
}

TEST_CASE("maximum and minimum: NaN on either side wins, equal sides give the right one") {
  const float nan = std::nanf("");
  const std::vector<float> a = {nan, 1.0f, nan, -0.0f, 0.0f}, b = {1.0f, nan, nan, 0.0f, -0.0f};
  for (const Binary op : {Binary::maximum, Binary::minimum}) {
    const auto out = run_on_all_levels(5, [&](const Loops& loops, float* to) {
      loops.binary[static_cast<int>(op)](a.data(), b.data(), to, 5);
    });
    CHECK((std::isnan(out[0]) && std::isnan(out[1]) && std::isnan(out[2])));
    CHECK((!std::signbit(out[3]) && std::signbit(out[4])));
  }
}

TEST_CASE("unary loops") {
  for (const std::size_t n : kCounts) {
    CAPTURE(n);
    const auto count = static_cast<std::int64_t>(n);
    const auto x = special_floats(n, 2);
    const auto check = [&](simd::UnaryLoop Loops::*loop, const std::function<float(float)>& f) {
      std::vector<float> wanted(n);
      for (std::size_t i = 0; i < n; ++i) wanted[i] = f(x[i]);
      CHECK(same_numbers(wanted, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                           (loops.*loop)(x.data(), out, count);
                         })));
    };
    check(&Loops::relu, [](float v) { return std::isnan(v) || v > 0 ? v : 0.0f; });
    check(&Loops::neg, [](float v) { return -v; });
    check(&Loops::square, [](float v) { return v * v; });
    check(&Loops::abs, [](float v) { return std::fabs(v); });
    check(&Loops::sqrt, [](float v) { return std::sqrt(v); });
    check(&Loops::rsqrt, [](float v) { return 1.0f / std::sqrt(v); });
    check(&Loops::sign, [](float v) { return std::isnan(v) ? v : float(v > 0) - float(v < 0); });
    check(&Loops::floor, [](float v) { return std::floor(v); });
    check(&Loops::ceil, [](float v) { return std::ceil(v); });
    check(&Loops::round, [](float v) { return std::nearbyint(v); });
    check(&Loops::relu6, [](float v) { return v <= 0 ? 0.0f : v > 6 ? 6.0f : v; });
    const auto filled = run_on_all_levels(
        n, [&](const Loops& loops, float* out) { loops.fill(-2.5f, out, count); });
    CHECK(filled == std::vector<float>(n, -2.5f));
  }
}

TEST_CASE("select: numbers on both sides, one number on either side, in place") {
  for (const std::size_t n : kCounts) {
    CAPTURE(n);
    const auto count = static_cast<std::int64_t>(n);
    const auto x = special_floats(n, 1), y = special_floats(n, 2);
    const float one = 0.7f;
    std::vector<std::uint8_t> condition(n);
    std::vector<float> both(n), left(n), right(n);
    for (std::size_t i = 0; i < n; ++i) {
      condition[i] = (i * 7 / 3) % 2;
      both[i] = condition[i] ? x[i] : y[i];
      left[i] = condition[i] ? one : y[i];
      right[i] = condition[i] ? x[i] : one;
    }
    const auto* chosen = reinterpret_cast<const bool*>(condition.data());
    CHECK(same_numbers(both, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                         loops.select(chosen, x.data(), y.data(), out, count);
                       })));
    CHECK(same_numbers(left, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                         loops.select_one_left(chosen, &one, y.data(), out, count);
                       })));
    CHECK(same_numbers(right, run_on_all_levels(n, [&](const Loops& loops, float* out) {
                         std::copy(x.begin(), x.end(), out);
                         loops.select_one_right(chosen, out, &one, out, count);
                       })));
  }
}

TEST_CASE("relu_grad multiplies by 0 or 1, so that NaN and infinite gradients show") {
  const float nan = std::nanf(""), inf = INFINITY;
  const std::vector<float> gradient = {2, nan, nan, 1, 1, 2, 6, inf, -3},
                           feature = {nan, 1, nan, -0.0f, 0, 2, -1, -1, 5};
  const std::vector<float> wanted = {0, nan, nan, 0, 0, 2, 0, nan, -3};
  CHECK(same_numbers(wanted, run_on_all_levels(9, [&](const Loops& loops, float* out) {
                       loops.relu_grad(gradient.data(), feature.data(), out, 9);
                     })));
}

template <class From, class To>
void check_cast(simd::Element from, simd::Element to, const std::vector<From>& in,
                const std::vector<To>& wanted) {
  for (const Loops* loops : testing::all_levels()) {
    // Repeated, so that vector code and remainders see every value.
    std::vector<From> many;
    std::vector<To> many_wanted;
    for (int i = 0; i < 9; ++i) {
      many.insert(many.end(), in.begin(), in.end());
      many_wanted.insert(many_wanted.end(), wanted.begin(), wanted.end());
    }
    std::vector<To> out(many.size());
    loops->cast[static_cast<int>(from)][static_cast<int>(to)](
        many.data(), out.data(), static_cast<std::int64_t>(many.size()));
    CHECK(out == many_wanted);
  }
}

TEST_CASE("casts between numbers, with TensorFlow's results outside the range") {
  using simd::Element;
  const float nan = std::nanf("");
  constexpr std::int32_t kMin32 = INT32_MIN;
  constexpr std::int64_t kMin64 = INT64_MIN;
  check_cast<float, std::int32_t>(Element::f32, Element::i32,
                                  {1e20f, -1e20f, nan, 2.9f, -2.9f, 3e9f, -2147483648.0f},
                                  {kMin32, kMin32, kMin32, 2, -2, kMin32, kMin32});
  check_cast<float, std::int64_t>(Element::f32, Element::i64, {1e20f, -1e20f, nan, 2.9f, 3e9f},
                                  {kMin64, kMin64, kMin64, 2, 3000000000});
  check_cast<float, std::uint8_t>(Element::f32, Element::u8, {1e20f, nan, 2.9f, -2.9f, 255.5f},
                                  {0, 0, 2, 254, 255});
  check_cast<double, std::int32_t>(Element::f64, Element::i32,
                                   {2147483647.9, -2147483648.9, -2147483649.0, 2147483648.0},
                                   {2147483647, kMin32, kMin32, kMin32});
  check_cast<double, float>(Element::f64, Element::f32, {0.1, -1e300}, {0.1f, -INFINITY});
  check_cast<std::uint8_t, float>(Element::u8, Element::f32, {0, 1, 255}, {0.0f, 1.0f, 255.0f});
  check_cast<std::int32_t, float>(Element::i32, Element::f32, {-7, 16777217}, {-7.0f, 16777216.0f});
  check_cast<std::int64_t, std::int32_t>(Element::i64, Element::i32, {(1LL << 40) + 5, -1},
                                         {5, -1});
  check_cast<std::int64_t, float>(Element::i64, Element::f32, {1LL << 40}, {1099511627776.0f});
  check_cast<std::int64_t, std::int64_t>(Element::i64, Element::i64, {kMin64}, {kMin64});
}

TEST_CASE("transpose") {
  for (const std::int64_t rows : {1, 5, 16, 33})
    for (const std::int64_t columns : {1, 7, 16, 40}) {
      const auto in = random_floats(static_cast<std::size_t>(rows * (columns + 2)), 1);
      std::vector<float> wanted(static_cast<std::size_t>(columns * rows));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          wanted[static_cast<std::size_t>(c * rows + r)] =
              in[static_cast<std::size_t>(r * (columns + 2) + c)];
      CHECK(same_numbers(wanted, run_on_all_levels(wanted.size(), [&](const Loops& l, float* out) {
                           l.transpose(in.data(), columns + 2, out, rows, rows, columns);
                         })));
    }
}

TEST_CASE("the level can be set, and is one that the processor has") {
  const simd::Level best = simd::loops().level;
  for (const Loops* loops : testing::all_levels()) {
    CHECK(simd::use_level(loops->level));
    CHECK(&simd::loops() == loops);
    CHECK(std::string(simd::level_name(loops->level)).size() > 3);
  }
  CHECK(simd::loops().level == best);  // the last level is the best
  CHECK((simd::loops_of(simd::Level::generic) == nullptr || testing::all_levels().size() == 1));
}

}  // namespace
}  // namespace towerflow
