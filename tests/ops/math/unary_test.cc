#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/eager.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::numbers;
using testing::random_between;

using Build = Tensor (*)(const Operand&, UnaryOptions, Site);

struct Case {
  const char* name;
  Build build;
  double (*f)(double);
  double low, high;
};

const std::vector<Case> kCases = {
    {"negative", negative, [](double x) { return -x; }, -3, 3},
    {"abs", abs, [](double x) { return std::fabs(x); }, -3, 3},
    {"square", square, [](double x) { return x * x; }, -3, 3},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.1, 9},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, 0.1, 9},
    {"exp", exp, [](double x) { return std::exp(x); }, -20, 20},
    {"expm1", expm1, [](double x) { return std::expm1(x); }, -2, 2},
    {"log", log, [](double x) { return std::log(x); }, 0.01, 20},
    {"log1p", log1p, [](double x) { return std::log1p(x); }, -0.9, 9},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -20, 20},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, -5, 5},
    {"sin", sin, [](double x) { return std::sin(x); }, -9, 9},
    {"cos", cos, [](double x) { return std::cos(x); }, -9, 9},
    {"sign", sign, [](double x) { return double((x > 0) - (x < 0)); }, -3, 3},
    {"floor", floor, [](double x) { return std::floor(x); }, -9, 9},
    {"ceil", ceil, [](double x) { return std::ceil(x); }, -9, 9},
    {"round", round, [](double x) { return std::nearbyint(x); }, -9, 9},
};

TEST_CASE("every function against <cmath>, below and above the size of a slice") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7, 11}, Shape{70001}}) {
      Graph graph;
      const auto guard = graph.as_default();
      const Array x = random_between(shape, c.low, c.high, 3);
      const Tensor narrow = cast(constant(x), float32);
      const auto exact = numbers(c.build(constant(x), {}, {}));
      const auto floats = numbers(c.build(narrow, {}, {}));
      const auto rounded = numbers(narrow);
      double worst = 0;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const double at = x.data<double>()[i];
        if (std::abs(exact[i] - c.f(at)) > 1e-15 * std::abs(exact[i])) ++wrong;
        const double wanted = c.f(rounded[i]);
        worst = std::max(worst, std::abs(floats[i] - wanted) / std::max(std::abs(wanted), 1e-6));
      }
      CHECK(wrong == 0);
      CHECK(worst < 4e-7);
    }
  }
}

TEST_CASE("infinities, NaN and signed zeros") {
  Graph graph;
  const auto guard = graph.as_default();
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {float32, float64}) {
    const Tensor x = constant({inf, -inf, nan, 0.0, -0.0}, {.dtype = dtype});
    CHECK(numbers(is_nan(x)) == std::vector<double>{0, 0, 1, 0, 0});
    CHECK(numbers(is_inf(x)) == std::vector<double>{1, 1, 0, 0, 0});
    CHECK(numbers(is_finite(x)) == std::vector<double>{0, 0, 0, 1, 1});
    const auto curve = numbers(sigmoid(x));
    CHECK(curve[0] == 1);
    CHECK(curve[1] == 0);
    CHECK(std::isnan(curve[2]));
    CHECK(std::isnan(numbers(sign(x))[2]));
    CHECK(std::isnan(numbers(exp(x))[2]));
    CHECK(numbers(exp(x))[1] == 0);
    CHECK(numbers(abs(x))[1] == inf);
    CHECK(std::signbit(numbers(-x)[3]));
  }
}

TEST_CASE("integers") {
  Graph graph;
  const auto guard = graph.as_default();
  for (const DType dtype : {int8, int16, int32, int64}) {
    const Tensor x = constant({-3, 0, 5}, {.dtype = dtype});
    CHECK(numbers(abs(x)) == std::vector<double>{3, 0, 5});
    CHECK(numbers(square(x)) == std::vector<double>{9, 0, 25});
    CHECK(numbers(sign(x)) == std::vector<double>{-1, 0, 1});
    CHECK(numbers(-x) == std::vector<double>{3, 0, -5});
  }
  CHECK_THROWS_AS(exp(constant({1, 2})), const TypeError&);
  CHECK_THROWS_AS(logical_not(constant({1, 2})), const TypeError&);
}

TEST_CASE("gradients of first and second order") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const std::string name = c.name;
    if (name == "floor" || name == "ceil" || name == "round") continue;
    const auto f = [&](const std::vector<Tensor>& xs) { return c.build(xs[0], {}, {}); };
    const std::vector<Array> xs = {
        random_between({3, 4}, std::max(c.low, -2.0), std::min(c.high, 2.0), 9)};
    const double tolerance = name == "sign" ? 1e-4 : 1e-6;
    CHECK(testing::grad_check(f, xs, {.tolerance = tolerance}) == "");
    CHECK(testing::grad_check(f, xs, {.tolerance = tolerance, .unknown_shapes = true}) == "");
    if (name == "abs" || name == "sign" || name == "negative") continue;
    CHECK(testing::second_grad_check(f, xs) == "");
  }
}

TEST_CASE("the sign has a gradient, of zeros; steps have none") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({-1.0, 2.0});
  const auto slope = gradients(sign(x), {x});
  REQUIRE(slope[0].has_value());
  CHECK(numbers(slope[0]->dense()) == std::vector<double>{0, 0});
  CHECK_FALSE(gradients(floor(x), {x})[0].has_value());
  CHECK_FALSE(gradients(round(x), {x})[0].has_value());
}

}  // namespace
}  // namespace towerflow
