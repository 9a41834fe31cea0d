#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/support/eager.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::array_of;
using testing::numbers;
using testing::random_doubles;
using testing::value_of;

struct Case {
  Shape shape;
  std::vector<int> axes;
};
const std::vector<Case> kCases = {
    {{2, 3, 4}, {}},         {{2, 3, 4}, {0}},       {{2, 3, 4}, {1}},       {{2, 3, 4}, {2}},
    {{2, 3, 4}, {-1}},       {{2, 3, 4}, {0, 2}},    {{2, 3, 4}, {0, 1}},    {{2, 3, 4}, {1, 2}},
    {{2, 3, 4}, {0, 1, 2}},  {{2, 3, 4, 5}, {0, 2}}, {{2, 3, 4, 5}, {1, 3}}, {{1, 5, 1}, {1}},
    {{1, 5, 1}, {0}},        {{0, 3}, {0}},          {{0, 3}, {1}},          {{}, {}},
    {{300, 257}, {0}},       {{300, 257}, {1}},      {{300, 257}, {0, 1}},   {{5, 300, 65}, {1}},
    {{17, 3, 2000}, {0, 2}}, {{3, 40000}, {1}},      {{200001}, {0}}};

/// Reduces in float64, one element after another.
std::vector<double> naive(const Array& x, const std::vector<int>& axes, double start,
                          double (*join)(double, double), std::vector<double>* counts) {
  const Shape& shape = x.shape();
  std::vector<bool> reduced(shape.rank(), false);
  for (const int axis : axes) reduced[*normalized_axis(axis, shape.rank())] = true;
  std::int64_t results = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) results *= reduced[i] ? 1 : shape.size(i);
  std::vector<double> out(static_cast<std::size_t>(results), start);
  counts->assign(out.size(), 0);
  const auto values = numbers(x);
  for (std::int64_t flat = 0; flat < shape.elements(); ++flat) {
    std::int64_t rest = flat;
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (std::size_t i = shape.rank(); i-- > 0;) {
      if (!reduced[i]) {
        place += rest % shape.size(i) * stride;
        stride *= shape.size(i);
      }
      rest /= shape.size(i);
    }
    const auto at = static_cast<std::size_t>(place);
    out[at] = join(out[at], values[static_cast<std::size_t>(flat)]);
    (*counts)[at] += 1;
  }
  return out;
}

using Build = Tensor (*)(const Operand&, Axis, ReduceOptions, Site);

void check(Build build, const Case& c, DType dtype, double start, double (*join)(double, double),
           bool mean) {
  CAPTURE(c.shape.text());
  CAPTURE(dtype_name(dtype));
  Graph graph;
  const auto guard = graph.as_default();
  const Array x = is_floating(dtype) ? value_of(cast(constant(random_doubles(c.shape, 4)), dtype))
                                     : value_of(cast(constant(random_doubles(c.shape, 4)) * 2.0 +
                                                         constant(1.0, {.dtype = float64}),
                                                     dtype));
  std::vector<double> counts;
  auto wanted = naive(x, c.axes, start, join, &counts);
  if (mean) {
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] /= counts[i];
  }
  const Tensor in = placeholder(dtype, {.shape = c.shape});
  const Tensor open = placeholder(dtype, {.shape = Shape::of_rank(c.shape.rank())});
  const Tensor axes = placeholder(int32, {.shape = {None}});
  const Array given = array_of(int32, {c.axes.size()}, {c.axes.begin(), c.axes.end()});
  const Array known = value_of(build(in, c.axes, {}, {}), {{in, x}});
  const Array fed = value_of(build(open, axes, {.keepdims = true}, {}), {{open, x}, {axes, given}});
  CHECK(fed.shape().rank() == c.shape.rank());
  CHECK(fed.reshaped(known.shape()) == known);
  CHECK(value_of(build(constant(x), c.axes, {}, {})) == known);
  const auto found = numbers(known);
  REQUIRE(found.size() == wanted.size());
  const double n = std::max(1.0, counts.empty() ? 1.0 : counts[0]);
  const double scale = mean ? 1 / std::sqrt(n) : std::sqrt(n);
  const double bound = (dtype == float32 ? 1e-6 : 1e-14) * std::max(1.0, scale);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool both_nan = std::isnan(found[i]) && std::isnan(wanted[i]);
    if (!both_nan && found[i] != wanted[i] && !(std::abs(found[i] - wanted[i]) <= bound)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("reductions against plain loops, axes known and fed") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const Case& c : kCases) {
    for (const DType dtype : {float32, float64, int32}) {
      check(
          reduce_sum, c, dtype, 0, [](double a, double b) { return a + b; }, false);
      const bool empty = c.shape.elements() == 0;
      if (!empty) {
        check(
            reduce_max, c, dtype, -inf, [](double a, double b) { return std::max(a, b); }, false);
        check(
            reduce_min, c, dtype, inf, [](double a, double b) { return std::min(a, b); }, false);
      }
    }
    for (const DType dtype : {float32, float64}) {
      check(
          reduce_mean, c, dtype, 0, [](double a, double b) { return a + b; }, true);
      check(
          reduce_prod, c, dtype, 1, [](double a, double b) { return a * b; }, false);
    }
  }
}

TEST_CASE("the order of a sum is fixed: threads do not change bits") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {1000, 300}});
  const std::vector<Fetch> all = {reduce_sum(x), reduce_mean(x, 0), reduce_sum(x, 1),
                                  nn::l2_loss(x)};
  const Array value = value_of(cast(constant(random_doubles({1000, 300}, 8)), float32));
  std::map<int, std::vector<Array>> results;
  for (const int threads : {1, 2, 5}) {
    Session session(graph, {.intra_op_parallelism_threads = threads});
    results[threads] = session.run(all, {{x, value}});
  }
  CHECK(results[1] == results[2]);
  CHECK(results[1] == results[5]);
}

TEST_CASE("of no elements; integer means; NaN") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor none = zeros({0});
  CHECK(numbers(reduce_sum(none))[0] == 0);
  CHECK(numbers(reduce_prod(none))[0] == 1);
  CHECK(std::isnan(numbers(reduce_mean(none))[0]));
  CHECK(std::isinf(numbers(reduce_max(none))[0]));
  CHECK(numbers(reduce_mean(constant({1, 2, 4})))[0] == 2);
  CHECK(numbers(reduce_mean(constant({-1, -2, -4})))[0] == -2);
  CHECK(numbers(reduce_mean(zeros({0}, {.dtype = int32})))[0] == 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(numbers(reduce_max(constant({1.0, nan, 2.0})))[0]));
  CHECK(std::isnan(numbers(reduce_min(constant({nan, 2.0})))[0]));
}

/// Checks integer means as in TensorFlow: sums of 8, 16 and 32 bits do not wrap, those of 64 do.
template <class T>
void check_integer_means(DType dtype, double whole, const std::vector<double>& down,
                         const std::vector<double>& across) {
  CAPTURE(dtype_name(dtype));
  const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(numbers(reduce_mean(Array::of(Shape{4}, std::vector<T>{most, most, most, least})))[0] ==
        whole);
  const Array table = Array::of(Shape{2, 3}, std::vector<T>{most, most, most, least, least, most});
  CHECK(numbers(reduce_mean(table, 0)) == down);
  CHECK(numbers(reduce_mean(table, 1)) == across);
  CHECK(numbers(reduce_mean(most)) == std::vector<double>{static_cast<double>(most)});
}

TEST_CASE("a mean of integers is added in 64 bits") {
  check_integer_means<std::int8_t>(int8, 63, {0, 0, 127}, {127, -43});
  check_integer_means<std::uint8_t>(uint8, 191, {127, 127, 255}, {255, 85});
  check_integer_means<std::int16_t>(int16, 16383, {0, 0, 32767}, {32767, -10923});
  check_integer_means<std::uint16_t>(uint16, 49151, {32767, 32767, 65535}, {65535, 21845});
  check_integer_means<std::int32_t>(int32, 1073741823, {0, 0, 2147483647},
                                    {2147483647, -715827883});
  check_integer_means<std::uint32_t>(uint32, 3221225471, {2147483647, 2147483647, 4294967295},
                                     {4294967295, 1431655765});
  Graph graph;
  const auto guard = graph.as_default();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(numbers(reduce_mean(Array::of(Shape{2}, std::vector<std::int64_t>{most, most})))[0] == -1);
  // Several slices, kept dimensions between reduced ones, and a sum that wraps by itself.
  const Tensor many = ones({300, 400}, {.dtype = uint8}) * 200;
  CHECK(numbers(reduce_mean(many))[0] == 200);
  for (const int axis : {0, 1}) {
    for (const double mean : numbers(reduce_mean(many, axis))) CHECK(mean == 200);
  }
  const Tensor cube = reshape(many, {300, 20, 20});
  CHECK(numbers(reduce_mean(cube, {0, 2})) == std::vector<double>(20, 200));
  CHECK(numbers(reduce_sum(constant(std::vector<int>{200, 100}, {.dtype = uint8})))[0] == 44);
}

TEST_CASE("all and any") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = constant({{true, false}, {true, true}});
  CHECK(numbers(reduce_all(p, 0)) == std::vector<double>{1, 0});
  CHECK(numbers(reduce_any(p, 1)) == std::vector<double>{1, 1});
  CHECK(numbers(reduce_all(p))[0] == 0);
  CHECK(numbers(reduce_any(zeros({0}, {.dtype = bool_})))[0] == 0);
  CHECK(numbers(reduce_all(zeros({0}, {.dtype = bool_})))[0] == 1);
}

TEST_CASE("lists are packed, and everything by name") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = constant({1.0, 2.0});
  const Tensor b = constant({3.0, 6.0});
  CHECK(numbers(reduce_mean({a, b}, 0)) == std::vector<double>{2, 4});
  CHECK(numbers(reduce_mean({a, b})) == std::vector<double>{3});
  CHECK(value_of(reduce_sum(a, {.axis = 0, .keepdims = true})).shape() == Shape{1});
  CHECK(numbers(reduce_sum(a, {.axis = 0})) == std::vector<double>{3});
  CHECK(value_of(reduce_sum({a, b}, {.axis = {0, 1}})).shape() == Shape{});
  CHECK(value_of(reduce_sum(a, {})).shape() == Shape{});
  CHECK_THROWS_AS(reduce_sum(a, 0, {.axis = 0}), const TypeError&);
}

TEST_CASE("axes that are wrong") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  CHECK_THROWS_WITH_AS(reduce_sum(x, 2),
                       doctest::Contains("Invalid reduction dimension 2 for input with 2"),
                       const ValueError&);
  const Tensor axis = placeholder(int32, {.shape = {1}});
  const Tensor sum = reduce_sum(x, axis);
  Session session(graph);
  const Array value = array_of(float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers(session.run(sum, {{x, value}, {axis, {1}}})) == std::vector<double>{6, 15});
  CHECK_THROWS_AS(session.run(sum, {{x, value}, {axis, {7}}}), const Error&);
}

TEST_CASE("an axis that is given twice is an error of the run") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  const Tensor none = placeholder(float32, {.shape = {None, None}});
  const Tensor axes = placeholder(int32, {.shape = {None}});
  Session session(graph);
  const auto refuses = [&](const Tensor& result, const Feeds& feeds, const std::string& axis) {
    const std::string text = "Axes contains duplicate dimension: " + axis;
    CHECK_THROWS_WITH_AS(session.run(result, feeds), doctest::Contains(text.c_str()),
                         const errors::InvalidArgumentError&);
  };
  const Array value = array_of(float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor twice = reduce_sum(x, {0, 0});
  CHECK(twice.shape() == Shape{3});
  CHECK(reduce_sum(x, {1, -1}, {.keepdims = true}).shape() == Shape{2, 1});
  refuses(twice, {{x, value}}, "0");
  refuses(reduce_max(x, {1, -1}), {{x, value}}, "1");
  refuses(reduce_any(x > 0.0, {0, 1, 0}), {{x, value}}, "0");
  refuses(reduce_mean(constant({{1.0, 2.0}}), {0, 0}), {}, "0");
  refuses(reduce_prod(x, axes), {{x, value}, {axes, {0, -2}}}, "0");
  refuses(reduce_min(none, axes, {.keepdims = true}), {{none, value}, {axes, {1, 1}}}, "1");
  // Also if there is nothing to reduce, or if there is no axis at all.
  refuses(reduce_sum(none, {1, 1}), {{none, array_of(float32, {0, 0}, {})}}, "1");
  const Tensor scalar = placeholder(float32, {.shape = Shape{}});
  const Array one = array_of(float32, {}, {1});
  CHECK_THROWS_AS(session.run(reduce_sum(scalar, axes), {{scalar, one}, {axes, {0}}}),
                  const Error&);
  // The gradient does not need the sum.
  const auto slope = gradients(twice, {x})[0];
  REQUIRE(slope.has_value());
  CHECK(numbers(session.run(slope->dense(), {{x, value}})) == std::vector<double>(6, 1));
}

TEST_CASE("gradients") {
  const std::vector<Array> xs = {random_doubles({2, 3, 4}, 6)};
  for (const bool unknown : {false, true})
    for (const bool keep : {false, true})
      for (const std::vector<int>& axes :
           {std::vector<int>{}, {0}, {-1}, {0, 2}, {0, 1, 2}, {1, 2}}) {
        CAPTURE(unknown);
        CAPTURE(axes.size());
        for (Build build : {Build(reduce_sum), Build(reduce_mean), Build(reduce_max),
                            Build(reduce_min), Build(reduce_prod)}) {
          const auto f = [&](const std::vector<Tensor>& in) {
            return build(in[0], axes, {.keepdims = keep}, {});
          };
          CHECK(testing::grad_check(f, xs, {.unknown_shapes = unknown}) == "");
        }
      }
  const auto whole = [](const std::vector<Tensor>& in) {
    return reduce_mean(square(in[0])) + nn::l2_loss(in[0]);
  };
  CHECK(testing::grad_check(whole, xs) == "");
  CHECK(testing::grad_check(whole, xs, {.unknown_shapes = true}) == "");
  CHECK(testing::second_grad_check(whole, xs) == "");
  const auto product = [](const std::vector<Tensor>& in) { return reduce_prod(in[0], 1); };
  CHECK(testing::grad_check(product, {array_of(float64, {2, 3}, {1, 0, 3, 0, 2, 0})}) == "");
}

TEST_CASE("several elements that reach the maximum share its gradient") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({1.0, 3.0, 3.0});
  CHECK(numbers(gradients(reduce_max(x), {x})[0]->dense()) == std::vector<double>{0, 0.5, 0.5});
}

}  // namespace
}  // namespace towerflow
