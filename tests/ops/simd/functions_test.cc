// Unary functions against float64, over floats of every size.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/ops/simd/levels.h"

namespace towerflow {
namespace {

using simd::Loops;
using testing::run_on_all_levels;

struct Function {
  const char* name;
  simd::UnaryLoop Loops::*loop;
  double (*wanted)(double);
  double bound;  // units in the last place
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }
double elu(double x) { return x < 0 ? std::expm1(x) : x; }
double selu(double x) {
  return x < 0 ? 1.7580993408473768599 * std::expm1(x) : 1.0507009873554804934 * x;
}

constexpr Function kFunctions[] = {
    {"exp", &Loops::exp, std::exp, 1.5},
    {"expm1", &Loops::expm1, std::expm1, 2},
    {"log", &Loops::log, std::log, 1},
    {"log1p", &Loops::log1p, std::log1p, 2},
    {"sigmoid", &Loops::sigmoid, sigmoid, 2.5},
    {"tanh", &Loops::tanh, std::tanh, 2.5},
    {"softplus", &Loops::softplus, softplus, 2.5},
    {"elu", &Loops::elu, elu, 2},
    {"selu", &Loops::selu, selu, 3},
    {"sin", &Loops::sin, std::sin, 0.51},
    {"cos", &Loops::cos, std::cos, 0.51},
    {"tan", &Loops::tan, std::tan, 0.6},
    {"asin", &Loops::asin, std::asin, 5},
    {"acos", &Loops::acos, std::acos, 5},
    {"atan", &Loops::atan, std::atan, 5},
    {"sinh", &Loops::sinh, std::sinh, 5},
    {"cosh", &Loops::cosh, std::cosh, 5},
    {"asinh", &Loops::asinh, std::asinh, 5},
    {"acosh", &Loops::acosh, std::acosh, 5},
    {"atanh", &Loops::atanh, std::atanh, 5},
    {"erf", &Loops::erf, std::erf, 8},
    {"erfc", &Loops::erfc, std::erfc, 13},
};

/// Returns the distance in units in the last place of the result; 0 for two NaN.
double ulps(float got, double wanted) {
  if (std::isnan(wanted) || std::isnan(got)) return std::isnan(wanted) == std::isnan(got) ? 0 : 1e9;
  const float rounded = static_cast<float>(wanted);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : 1e9;
  const double unit =
      std::max(double{std::nextafter(std::abs(rounded), INFINITY)} - double{std::abs(rounded)},
               double{std::numeric_limits<float>::denorm_min()});
  return std::abs(double{got} - wanted) / unit;
}

/// Returns every `step`th of the 2^32 floats, including NaN.
std::vector<float> numbers(std::uint32_t step) {
  std::vector<float> all;
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += step) {
    const auto bits = static_cast<std::uint32_t>(word);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    all.push_back(value);
  }
  return all;
}

struct BinaryFunction {
  const char* name;
  simd::Binary op;
  double (*wanted)(double, double);
  double bound;
};
constexpr BinaryFunction kBinaryFunctions[] = {
    {"xlogy", simd::Binary::xlogy, [](double x, double y) { return x == 0 ? 0 : x * std::log(y); },
     2},
    {"xlog1py", simd::Binary::xlog1py,
     [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }, 3},
    {"atan2", simd::Binary::atan2, [](double y, double x) { return std::atan2(y, x); }, 5},
};

/// Two arrays with every pair of special numbers, and pairs of every size.
std::pair<std::vector<float>, std::vector<float>> pairs() {
  std::vector<float> first, second;
  const std::vector<float> special = {0.0f,    -0.0f, 1.0f,   -1.0f,    1e-40f,
                                      -1e-40f, 1e30f, -1e30f, INFINITY, -INFINITY,
                                      NAN,     0.5f,  3e-5f,  -0.75f,   1e-20f};
  for (const float a : special) {
    for (const float b : special) first.push_back(a), second.push_back(b);
  }
  const std::vector<float> all = numbers(8209);
  for (std::size_t i = 0; i < all.size(); ++i) {
    first.push_back(all[i]);
    second.push_back(all[(i * 7919 + 13) % all.size()]);
  }
  return {first, second};
}

}  // namespace

TEST_CASE("functions of two numbers are within their bounds, also with one number for all") {
  const auto both = pairs();
  const std::vector<float>&x = both.first, &y = both.second;
  const auto count = static_cast<std::int64_t>(x.size());
  for (const BinaryFunction& function : kBinaryFunctions) {
    CAPTURE(function.name);
    const auto op = static_cast<std::size_t>(function.op);
    const auto check = [&](const std::vector<float>& a, const std::vector<float>& b,
                           const std::vector<float>& got) {
      double worst = 0;
      float at_a = 0, at_b = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const float left = a[a.size() == 1 ? 0 : i], right = b[b.size() == 1 ? 0 : i];
        const double error = ulps(got[i], function.wanted(double{left}, double{right}));
        if (error > worst) worst = error, at_a = left, at_b = right;
      }
      MESSAGE(std::string(function.name), " is off by ", worst, " at ", at_a, ", ", at_b);
      CHECK(worst < function.bound);
    };
    check(x, y, run_on_all_levels(x.size(), [&](const Loops& loops, float* out) {
            loops.binary[op](x.data(), y.data(), out, count);
          }));
    for (const float one : {0.0f, -0.0f, 0.7f, -3.0f, INFINITY, NAN}) {
      check({one}, y, run_on_all_levels(y.size(), [&](const Loops& loops, float* out) {
              loops.binary_scalar_left[op](&one, y.data(), out, count);
            }));
      check(x, {one}, run_on_all_levels(x.size(), [&](const Loops& loops, float* out) {
              loops.binary_scalar_right[op](x.data(), &one, out, count);
            }));
    }
  }
}

TEST_CASE("functions are within their bounds of the real result, for numbers of every size") {
  std::vector<float> x = numbers(4099);
  for (const float special : {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 88.7f, 89.0f,
                              -103.9f, -104.5f, 1e6f, -1e6f, 1000001.0f}) {
    x.push_back(special);
  }
  for (double v = -20; v < 20; v += 0.00037) x.push_back(static_cast<float>(v));
  const auto count = static_cast<std::int64_t>(x.size());
  for (const Function& function : kFunctions) {
    const auto y = run_on_all_levels(x.size(), [&](const Loops& loops, float* out) {
      (loops.*function.loop)(x.data(), out, count);
    });
    double worst = 0;
    float at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], function.wanted(double{x[i]}));
      if (error > worst) worst = error, at = x[i];
    }
    MESSAGE(std::string(function.name), " is off by ", worst, " units in the last place at ", at);
    CHECK(worst < function.bound);
  }
}

TEST_CASE("functions give the same bits in place, and for any count from any place on") {
  const std::vector<float> x = testing::special_floats(700, 3);
  for (const Function& function : kFunctions) {
    CAPTURE(function.name);
    const auto all = run_on_all_levels(x.size(), [&](const Loops& loops, float* out) {
      (loops.*function.loop)(x.data(), out, 700);
    });
    for (const std::size_t begin : {0, 1, 5}) {
      for (const std::size_t n : {0, 1, 3, 7, 15, 16, 17, 255, 300}) {
        const auto part = run_on_all_levels(n, [&](const Loops& loops, float* out) {
          std::memcpy(out, x.data() + begin, n * sizeof(float));
          (loops.*function.loop)(out, out, static_cast<std::int64_t>(n));
        });
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
        CHECK(testing::same_numbers(part, {first, first + static_cast<std::ptrdiff_t>(n)}));
      }
    }
  }
}

}  // namespace towerflow
