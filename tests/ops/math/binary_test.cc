#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/ops/math/broadcast.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::array_of;
using testing::broadcast_places;
using testing::numbers;
using testing::value_of;

struct Pair {
  Shape a, b;
};
const std::vector<Pair> kPairs = {{{2, 3}, {2, 3}},
                                  {{2, 3}, {3}},
                                  {{3}, {4, 3}},
                                  {{2, 1, 3}, {4, 1}},
                                  {{5}, {}},
                                  {{}, {2, 2}},
                                  {{0, 3}, {3}},
                                  {{2, 3, 1}, {1, 1, 4}},
                                  {{300, 301}, {301}},
                                  {{70001}, {70001}},
                                  {{1, 70001}, {2, 1}},
                                  {{4, 1}, {4, 20000}},
                                  {{40000, 3}, {3}},
                                  {{5}, {700, 5}},
                                  {{30, 7, 11}, {7, 1}},
                                  {{40, 1, 1}, {40, 50, 2}},
                                  {{2, 1, 2, 1}, {1, 3, 1, 5}}};
const std::vector<DType> kNumbers = {float32, float64, int8, int16, int32, int64, uint8};

/// Returns small integers without 0. They and their products are exact in every dtype.
Array small_integers(DType dtype, const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> values;
  const bool with_sign = dtype != uint8;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double size = 1 + static_cast<double>(engine() % 7);
    values.push_back(with_sign && engine() % 2 == 1 ? -size : size);
  }
  return array_of(dtype, shape, values);
}

using Build = Tensor (*)(const Operand&, const Operand&, BinaryOptions, Site);

void check(Build build, double (*f)(double, double), DType dtype, const Pair& pair) {
  CAPTURE(dtype_name(dtype));
  CAPTURE(pair.a.text());
  CAPTURE(pair.b.text());
  Graph graph;
  const auto guard = graph.as_default();
  const Array a = small_integers(dtype, pair.a, 1);
  const Array b = small_integers(dtype, pair.b, 2);
  const Tensor x = placeholder(dtype, {.shape = pair.a});
  const Tensor u = placeholder(dtype, {.shape = Shape::of_rank(pair.b.rank())});
  const Array known = value_of(build(constant(a), constant(b), {}, {}));
  const Array fed = value_of(build(x, u, {}, {}), {{x, a}, {u, b}});
  const Shape shape = *broadcast_shapes(pair.a, pair.b);
  CHECK(known.shape() == shape);
  CHECK(known == fed);
  const auto at_a = broadcast_places(pair.a, shape);
  const auto at_b = broadcast_places(pair.b, shape);
  const auto as = numbers(a);
  const auto bs = numbers(b);
  const auto found = numbers(known);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double wanted = f(as[at_a[i]], bs[at_b[i]]);
    if (known.dtype() == float32) wanted = static_cast<double>(static_cast<float>(wanted));
    if (found[i] != wanted) ++wrong;
  }
  CHECK(wrong == 0);
}

void check_all(Build build, double (*f)(double, double)) {
  for (const DType dtype : kNumbers)
    for (const Pair& pair : kPairs) check(build, f, dtype, pair);
}

TEST_CASE("arithmetic of all dtypes under every broadcast") {
  check_all(add, [](double a, double b) { return a + b; });
  check_all(multiply, [](double a, double b) { return a * b; });
  check_all(maximum, [](double a, double b) { return std::max(a, b); });
  check_all(minimum, [](double a, double b) { return std::min(a, b); });
}

TEST_CASE("arithmetic that is not commutative") {
  for (const Pair& pair : kPairs) {
    for (const DType dtype : {float32, float64, int32, int64, int8}) {
      check(
          subtract, [](double a, double b) { return a - b; }, dtype, pair);
      check(
          floordiv, [](double a, double b) { return std::floor(a / b); }, dtype, pair);
      check(
          floormod, [](double a, double b) { return a - std::floor(a / b) * b; }, dtype, pair);
    }
    for (const DType dtype : {float32, float64})
      check(
          truediv, [](double a, double b) { return a / b; }, dtype, pair);
    for (const DType dtype : {float64, int32, int64})
      check(
          squared_difference, [](double a, double b) { return (a - b) * (a - b); }, dtype, pair);
  }
}

TEST_CASE("comparisons give bools") {
  check_all(equal, [](double a, double b) { return double(a == b); });
  check_all(not_equal, [](double a, double b) { return double(a != b); });
  check_all(greater, [](double a, double b) { return double(a > b); });
  check_all(greater_equal, [](double a, double b) { return double(a >= b); });
  check_all(less, [](double a, double b) { return double(a < b); });
  check_all(less_equal, [](double a, double b) { return double(a <= b); });
}

TEST_CASE("logic, strings") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = constant({true, true, false, false});
  const Tensor q = constant({true, false, true, false});
  CHECK(numbers(logical_and(p, q)) == std::vector<double>{1, 0, 0, 0});
  CHECK(numbers(logical_or(p, q)) == std::vector<double>{1, 1, 1, 0});
  CHECK(numbers(logical_not(p)) == std::vector<double>{0, 0, 1, 1});
  const Tensor words = constant(Operand(Nested({"a", "b"})));
  CHECK(numbers(equal(words, "b")) == std::vector<double>{0, 1});
  CHECK(numbers(not_equal(words, "b")) == std::vector<double>{1, 0});
}

TEST_CASE("integers wrap, powers, signs of a remainder") {
  Graph graph;
  const auto guard = graph.as_default();
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  CHECK(numbers(constant({kMax}) + 1) == std::vector<double>{kMin});
  CHECK(numbers(-constant({kMin})) == std::vector<double>{kMin});
  CHECK(numbers(floordiv(constant({kMin, 7}), -1)) == std::vector<double>{kMin, -7});
  CHECK(numbers(constant({7, -7, 7, -7}) % constant({3, 3, -3, -3})) ==
        std::vector<double>{1, 2, -2, -1});
  CHECK(numbers(constant({7.5, -7.5}) % 2.0) == std::vector<double>{1.5, 0.5});
  CHECK(numbers(pow(constant({2, -3, 0}), constant({10, 3, 0}))) ==
        std::vector<double>{1024, -27, 1});
  CHECK(numbers(pow(constant({2.0, 9.0}), constant({-1.0, 0.5}))) == std::vector<double>{0.5, 3});
  const Array quotient = value_of(constant({7, -1}) / 2);
  CHECK(quotient.dtype() == float64);
  CHECK(numbers(quotient) == std::vector<double>{3.5, -0.5});
}

TEST_CASE("division by zero and negative powers of integers are errors of the run") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor zero = placeholder(int32, {.shape = Shape{}});
  const Tensor quotient = floordiv(constant({1, 2}), zero);
  const Tensor rest = constant({1, 2}) % zero;
  const Tensor power = pow(constant({1, 2}), zero);
  Session session(graph);
  for (const Tensor& y : {quotient, rest}) {
    CHECK_THROWS_AS(session.run(y, {{zero, 0}}), const errors::InvalidArgumentError&);
    CHECK(session.run(y, {{zero, 1}}).elements() == 2);
  }
  CHECK_THROWS_AS(session.run(power, {{zero, -1}}), const errors::InvalidArgumentError&);
  CHECK(std::isinf(numbers(constant(1.0) / 0.0)[0]));
}

TEST_CASE("maximum and minimum give NaN where either side is NaN") {
  Graph graph;
  const auto guard = graph.as_default();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {float32, float64}) {
    const Tensor a = constant({nan, 1.0, nan}, {.dtype = dtype});
    const Tensor b = constant({1.0, nan, nan}, {.dtype = dtype});
    for (const double value : numbers(maximum(a, b))) CHECK(std::isnan(value));
    for (const double value : numbers(minimum(a, b))) CHECK(std::isnan(value));
  }
}

TEST_CASE("a chain that may share memory, and an operand used twice") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  const Tensor y = (x * x + x) * 2 - x * x * x;
  const Array value = array_of(float32, {2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(numbers(y, {{x, value}}) == std::vector<double>{0, 3, 4, -3, -24, -65});
}

TEST_CASE("shapes and dtypes that do not fit are errors where the op is made") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}, .name = "x"});
  const Tensor y = placeholder(float32, {.shape = {4}, .name = "y"});
  const Tensor i = placeholder(int32, {.shape = {3}, .name = "i"});
  CHECK_THROWS_WITH_AS(x + y, doctest::Contains("(2, 3) and (4,) do not broadcast"),
                       const ValueError&);
  CHECK_THROWS_WITH_AS(x + i,
                       doctest::Contains("Input 'y' of 'AddV2' Op has type int32 that does not "
                                         "match type float32 of argument 'x'."),
                       const TypeError&);
  CHECK_THROWS_AS(logical_and(x, x), const TypeError&);
  CHECK_THROWS_AS(greater(constant(true), true), const TypeError&);
}

TEST_CASE("shapes that turn out not to fit are errors of the run") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None}});
  const Tensor y = placeholder(float32, {.shape = {None}});
  const Tensor sum = x + y;
  Session session(graph);
  CHECK_THROWS_AS(session.run(sum, {{x, {1.0, 2.0}}, {y, {1.0, 2.0, 3.0}}}), const Error&);
  CHECK(numbers(session.run(sum, {{x, {1.0, 2.0}}, {y, {3.0}}})) == std::vector<double>{4, 5});
}

}  // namespace
}  // namespace towerflow
