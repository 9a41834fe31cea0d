// matmul, argmax, add_n, l2_loss, range, unsorted_segment_sum, and the gradients of binary ops.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ops/reference/matmul.h"
#include "tests/support/eager.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::array_of;
using testing::grad_check;
using testing::numbers;
using testing::random_between;
using testing::random_doubles;
using testing::second_grad_check;
using testing::value_of;

TEST_CASE("matmul of every dtype and orientation") {
  for (const DType dtype : {float32, float64, int32, int64})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Graph graph;
        const auto guard = graph.as_default();
        const Shape a_shape = ta ? Shape{7, 5} : Shape{5, 7};
        const Shape b_shape = tb ? Shape{3, 7} : Shape{7, 3};
        const Array a = value_of(cast(constant(random_doubles(a_shape, 1)) * 9.0, dtype));
        const Array b = value_of(cast(constant(random_doubles(b_shape, 2)) * 9.0, dtype));
        const Tensor open = placeholder(dtype, {.shape = {None, None}});
        const Tensor c = matmul(open, constant(b), {.transpose_a = ta, .transpose_b = tb});
        std::vector<double> wanted(15);
        const auto as = numbers(a);
        const auto bs = numbers(b);
        reference::matmul(5, 7, 3, ta, tb, as.data(), bs.data(), wanted.data());
        const auto found = numbers(c, {{open, a}});
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
        }
      }
}

TEST_CASE("matmul: empty sides, gradients, errors") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(value_of(matmul(zeros({0, 3}), zeros({3, 2}))).shape() == Shape{0, 2});
  CHECK(numbers(matmul(zeros({2, 0}), zeros({0, 1}))) == std::vector<double>{0, 0});
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool unknown : {false, true}) {
        const std::vector<Array> xs = {random_doubles(ta ? Shape{4, 2} : Shape{2, 4}, 1),
                                       random_doubles(tb ? Shape{3, 4} : Shape{4, 3}, 2)};
        const auto f = [=](const std::vector<Tensor>& in) {
          return matmul(in[0], in[1], {.transpose_a = ta, .transpose_b = tb});
        };
        CHECK(grad_check(f, xs, {.unknown_shapes = unknown}) == "");
        CHECK(second_grad_check(f, xs) == "");
      }
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  CHECK_THROWS_WITH_AS(matmul(x, x), doctest::Contains("Dimensions must be equal, but are 3 and 2"),
                       const ValueError&);
  CHECK_THROWS_AS(matmul(constant({{true}}), constant({{true}})), const TypeError&);
}

TEST_CASE("gradients of binary ops under broadcasting") {
  using Build = Tensor (*)(const Operand&, const Operand&, BinaryOptions, Site);
  struct Pair {
    Shape a, b;
  };
  for (const Build build :
       {add, subtract, multiply, truediv, maximum, minimum, pow, squared_difference, floormod})
    for (const Pair& pair : {Pair{{2, 3}, {2, 3}}, Pair{{2, 3}, {3}}, Pair{{2, 1, 3}, {4, 1}},
                             Pair{{}, {2, 2}}, Pair{{1, 3}, {1, 1}}}) {
      const std::vector<Array> xs = {random_between(pair.a, 0.5, 2, 11),
                                     random_between(pair.b, 2.1, 3, 12)};
      const auto f = [&](const std::vector<Tensor>& in) { return build(in[0], in[1], {}, {}); };
      CHECK(grad_check(f, xs) == "");
      CHECK(grad_check(f, xs, {.unknown_shapes = true}) == "");
      const auto g = [&](const std::vector<Tensor>& in) {
        return square(build(in[1], in[0], {}, {}));
      };
      CHECK(grad_check(g, xs) == "");
    }
  const std::vector<Array> xs = {random_between({2, 3}, 0.5, 2, 1), random_between({3}, 1, 2, 2)};
  const auto smooth = [](const std::vector<Tensor>& in) {
    return pow(in[0], in[1]) / in[1] - in[0] * squared_difference(in[0], in[1]);
  };
  CHECK(second_grad_check(smooth, xs) == "");
}

TEST_CASE("ties: maximum and minimum give the gradient to x") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({1.0, 2.0});
  const Tensor y = constant({1.0, 1.0});
  for (const auto& build : {maximum, minimum}) {
    const auto slopes = gradients(build(x, y, {}, {}), {x, y});
    CHECK(numbers(slopes[0]->dense())[0] == 1);
    CHECK(numbers(slopes[1]->dense())[0] == 0);
  }
}

TEST_CASE("pow at and below zero has TensorFlow's gradient") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({0.0, -2.0, 2.0});
  const Tensor y = constant({2.0, 2.0, 2.0});
  const auto slopes = gradients(pow(x, y), {x, y});
  CHECK(numbers(slopes[0]->dense()) == std::vector<double>{0, -4, 4});
  const auto by_y = numbers(slopes[1]->dense());
  CHECK(by_y[0] == 0);
  CHECK(by_y[1] == 0);
  CHECK(by_y[2] == doctest::Approx(4 * std::log(2.0)));
}

TEST_CASE("argmax and argmin") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0, 3.0, 3.0}, {2.0, -1.0, 0.0}});
  CHECK(numbers(argmax(x, 0)) == std::vector<double>{1, 0, 0});
  CHECK(numbers(argmax(x, 1)) == std::vector<double>{1, 0});
  CHECK(numbers(argmin(x, -1)) == std::vector<double>{0, 1});
  CHECK(value_of(argmax(x, 1)).dtype() == int64);
  CHECK(value_of(argmax(x, 1, {.output_type = int32})).dtype() == int32);
  CHECK_THROWS_AS(argmax(x, 1, {.output_type = float32}), const TypeError&);
  const Tensor cube = reshape(range(24), {2, 3, 4}) % 7;
  CHECK(numbers(argmax(cube, 1)) == std::vector<double>{1, 1, 1, 2, 2, 0, 1, 1});
  CHECK_FALSE(gradients(cast(argmax(x, 1), float32), {x})[0].has_value());
  CHECK_THROWS_AS(value_of(argmax(zeros({0, 3}), 0)), const errors::InvalidArgumentError&);
  const Tensor axis = placeholder(int32, {.shape = Shape{}});
  CHECK(numbers(argmax(x, axis), {{axis, 1}}) == std::vector<double>{1, 0});
  CHECK_THROWS_AS(numbers(argmax(x, axis), {{axis, 2}}), const Error&);
}

TEST_CASE("argmax and argmin of what is no number, and of ties") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  struct Case {
    std::vector<double> x;
    double largest, smallest;
  };
  const std::vector<Case> cases = {
      {{nan, 1, 2}, 2, 1},  {{1, nan, 2}, 2, 0}, {{3, nan, 3}, 0, 0},    {{nan, nan}, 0, 0},
      {{nan}, 0, 0},        {{-inf, nan}, 0, 0}, {{nan, -inf}, 0, 1},    {{nan, inf}, 1, 0},
      {{-inf, -inf}, 0, 0}, {{inf, inf}, 0, 0},  {{nan, -inf, 1}, 2, 1}, {{nan, inf, -1}, 1, 2},
      {{2, 2, 1, 1}, 0, 2},
  };
  Graph graph;
  const auto guard = graph.as_default();
  for (const DType dtype : {float32, float64}) {
    for (const Case& c : cases) {
      CAPTURE(c.x);
      const Tensor x = constant(array_of(dtype, {c.x.size()}, c.x));
      CHECK(numbers(argmax(x)) == std::vector<double>{c.largest});
      CHECK(numbers(argmin(x)) == std::vector<double>{c.smallest});
    }
  }
  const Tensor table = constant({{nan, 1.0}, {3.0, nan}, {2.0, 2.0}});
  CHECK(numbers(argmax(table, 0)) == std::vector<double>{1, 2});
  CHECK(numbers(argmin(table, 0)) == std::vector<double>{2, 0});
  for (const double end : {-128, 127}) {
    const Tensor x = constant(array_of(int8, {2}, {end, end}));
    CHECK(numbers(argmax(x)) == std::vector<double>{0});
    CHECK(numbers(argmin(x)) == std::vector<double>{0});
  }
}

TEST_CASE("add_n adds in order; l2_loss") {
  Graph graph;
  const auto guard = graph.as_default();
  for (const DType dtype : {float32, float64, int32}) {
    std::vector<Tensor> parts;
    std::vector<double> wanted(5000, 0);
    for (int k = 0; k < 20; ++k) {
      const Array part =
          value_of(cast(constant(random_doubles({5000}, static_cast<unsigned>(k))) * 8.0, dtype));
      parts.push_back(constant(part));
      const auto values = numbers(part);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] += values[i];
        if (dtype == float32) wanted[i] = static_cast<double>(static_cast<float>(wanted[i]));
      }
    }
    CHECK(numbers(add_n(parts)) == wanted);
    const std::vector<Tensor> three(parts.begin(), parts.begin() + 3);
    const std::vector<Tensor> again = {three[0], three[1], three[2], three[0]};
    CHECK(numbers(add_n(again) - three[0]).size() == 5000);
  }
  const auto f = [](const std::vector<Tensor>& in) { return add_n({in[0], in[1], in[0]}); };
  CHECK(grad_check(f, {random_doubles({2, 3}, 1), random_doubles({2, 3}, 2)}) == "");
  CHECK(numbers(nn::l2_loss(constant({3.0, 4.0})))[0] == 12.5);
  CHECK_THROWS_WITH_AS(add_n(std::vector<Tensor>{}), doctest::Contains("at least one Tensor"),
                       const ValueError&);
}

TEST_CASE("range, known and fed") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(numbers(range(4)) == std::vector<double>{0, 1, 2, 3});
  CHECK(numbers(range(1, 10, 4)) == std::vector<double>{1, 5, 9});
  CHECK(numbers(range(5, 0, -2)) == std::vector<double>{5, 3, 1});
  CHECK(numbers(range(0)).empty());
  // The widest dtype wins, wherever it stands.
  const Tensor narrow = constant(1.0F), wide = constant(Array::scalar(4.0));
  CHECK(range(narrow, wide, 1).dtype() == DType::float64);
  CHECK(range(wide, narrow, -1).dtype() == DType::float64);
  CHECK(range(constant(1), constant(Array::scalar(std::int64_t{4})), 1).dtype() == DType::int64);
  CHECK(range(constant(1), constant(4.0F), 1).dtype() == DType::float32);
  CHECK(numbers(range(0.0, 1.0, 0.25)) == std::vector<double>{0, 0.25, 0.5, 0.75});
  const Tensor n = placeholder(int32, {.shape = Shape{}});
  CHECK(numbers(range(n) * 2, {{n, 3}}) == std::vector<double>{0, 2, 4});
  const Tensor x = placeholder(float32, {.shape = Shape{}});
  CHECK(numbers(range(0.0, x, 1.0) + 1.0, {{x, 2.5}}) == std::vector<double>{1, 2, 3});
  CHECK_THROWS_AS(range(3, 0, 1), const ValueError&);
  CHECK_THROWS_AS(range(0, 3, 0), const ValueError&);
  CHECK_THROWS_AS(numbers(range(n), {{n, -1}}), const Error&);
  CHECK_THROWS_AS(range(0.0, 1e30, 1.0), const ValueError&);
}

TEST_CASE("unsorted_segment_sum") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  CHECK(numbers(unsorted_segment_sum(x, {2, 0, 2}, 3)) == std::vector<double>{3, 4, 0, 0, 6, 8});
  CHECK(numbers(unsorted_segment_sum(x, {-1, 0, 0}, 1)) == std::vector<double>{8, 10});
  CHECK_THROWS_WITH_AS(value_of(unsorted_segment_sum(x, {0, 1, 2}, 2)),
                       doctest::Contains("segment_ids[2] = 2 is out of range [0, 2)"),
                       const errors::InvalidArgumentError&);
  CHECK_THROWS_AS(unsorted_segment_sum(x, {0, 1}, 2), const ValueError&);
  for (const bool unknown : {false, true}) {
    const auto f = [](const std::vector<Tensor>& in) {
      return unsorted_segment_sum(in[0], {1, -1, 1}, 4);
    };
    CHECK(grad_check(f, {random_doubles({3, 2}, 1)}, {.unknown_shapes = unknown}) == "");
  }
}

}  // namespace
}  // namespace towerflow
