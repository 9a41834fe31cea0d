// concat, stack, unstack, tile, gather.
#include <doctest/doctest.h>

#include "tests/support/check_gradient.h"
#include "tests/support/eager.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::array_of;
using testing::check_gradient;
using testing::grad_check;
using testing::numbers;
using testing::random_doubles;
using testing::value_of;

using Numbers = std::vector<double>;

TEST_CASE("concat") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1, 2}, {3, 4}});
  const Tensor y = constant({{5}, {6}});
  CHECK(numbers(concat({x, y}, 1)) == Numbers{1, 2, 5, 3, 4, 6});
  CHECK(numbers(concat({x, x}, 0)) == Numbers{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(numbers(concat({x, y, x}, -1)).size() == 10);
  CHECK(numbers(concat({x, zeros({0, 2}, {.dtype = int32})}, 0)) == Numbers{1, 2, 3, 4});
  const Tensor words = constant(Operand(Nested({"a", "b"})));
  CHECK(value_of(concat({words, words}, 0)).data<std::string>()[3] == "b");
  const Tensor u = placeholder(int32, {.shape = {None, None}});
  const Tensor axis = placeholder(int32, {.shape = Shape{}});
  const Tensor both = concat({u, x}, axis);
  Session session(graph);
  const Array one = array_of(int32, {1, 2}, {8, 9});
  CHECK(numbers(session.run(both, {{u, one}, {axis, 0}})) == Numbers{8, 9, 1, 2, 3, 4});
  CHECK_THROWS_AS(session.run(both, {{u, one}, {axis, 1}}), const Error&);
  CHECK_THROWS_AS(session.run(both, {{u, one}, {axis, 2}}), const Error&);
  CHECK_THROWS_WITH_AS(concat({constant(1), constant(2)}, 0),
                       doctest::Contains("Can't concatenate scalars"), const ValueError&);
  const std::vector<Array> xs = {random_doubles({2, 3}, 1), random_doubles({2, 1}, 2)};
  check_gradient([](const auto& in) { return concat({in[0], in[1], in[0]}, 1); }, xs);
  check_gradient(
      [](const auto& in) {
        return concat({in[0], in[0]}, -2);
      },
      {random_doubles({2, 3}, 1)});
}

TEST_CASE("concat of sizes that are known in the run alone and that 64 bits do not add up") {
  Graph graph;
  const auto guard = graph.as_default();
  const std::int64_t larger = std::int64_t{1} << 62;
  const Tensor x = placeholder(float32), axis = placeholder(int32, {.shape = Shape{}});
  const Array none = Array::zeros(float32, {0, larger});
  Session session;
  for (const Tensor& sideways : {concat({x, x}, 1), concat({x, x}, axis)}) {
    CHECK_THROWS_WITH_AS(session.run(sideways, {{x, none}, {axis, 1}}),
                         doctest::Contains("Dimension size overflow from adding"),
                         errors::InvalidArgumentError);
  }
  for (const Tensor& below : {concat({x, x}, 0), concat({x, x}, axis)}) {
    CHECK(session.run(below, {{x, none}, {axis, 0}}).shape() == Shape{0, larger});
  }
}

TEST_CASE("stack and unstack") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({1, 2});
  const Tensor y = constant({3, 4});
  CHECK(numbers(stack({x, y})) == Numbers{1, 2, 3, 4});
  CHECK(numbers(stack({x, y}, 1)) == Numbers{1, 3, 2, 4});
  CHECK(numbers(stack({x, y}, -1)) == Numbers{1, 3, 2, 4});
  CHECK(numbers(stack({x, Operand({7, 8})})) == Numbers{1, 2, 7, 8});
  CHECK(value_of(stack({constant("a"), constant("b")})).data<std::string>()[1] == "b");
  const auto parts = unstack(constant({{1, 2, 3}, {4, 5, 6}}), std::nullopt, {.axis = 1});
  REQUIRE(parts.size() == 3);
  CHECK(numbers(parts[2]) == Numbers{3, 6});
  const Tensor u = placeholder(int32, {.shape = {None}});
  const auto fed = unstack(u, 2);
  CHECK(numbers(fed[1], {{u, {8, 9}}}) == Numbers{9});
  CHECK_THROWS_AS(value_of(fed[1], {{u, {8, 9, 10}}}), const Error&);
  const std::vector<Array> xs = {random_doubles({2, 3}, 1), random_doubles({2, 3}, 2)};
  check_gradient([](const auto& in) { return stack({in[0], in[1]}, 1); }, xs);
  check_gradient([](const auto& in) { return unstack(in[0], 3, {.axis = 1})[2]; }, {xs[0]});
}

TEST_CASE("a shape put together of computed sizes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor u = placeholder(float32, {.shape = {None, 4}});
  const Tensor rows = take_index(shape(u), 0);
  const Tensor flat = reshape(u, stack({rows * 2, 2}));
  const Array value = array_of(float32, {1, 4}, {1, 2, 3, 4});
  CHECK(value_of(flat, {{u, value}}).shape() == Shape{2, 2});
}

TEST_CASE("tile") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1, 2}, {3, 4}});
  CHECK(numbers(tile(x, {1, 2})) == Numbers{1, 2, 1, 2, 3, 4, 3, 4});
  CHECK(numbers(tile(x, {2, 1})) == Numbers{1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(value_of(tile(x, {0, 3})).shape() == Shape{0, 6});
  CHECK(numbers(reduce_sum(tile(constant({1}), {100000})))[0] == 100000);
  CHECK_THROWS_AS(tile(x, {2}), const ValueError&);
  CHECK_THROWS_AS(value_of(tile(x, {-1, 2})), const errors::InvalidArgumentError&);
  const Tensor times = placeholder(int64, {.shape = {2}});
  CHECK(value_of(tile(x, times), {{times, {2, 3}}}).shape() == Shape{4, 6});
  CHECK_THROWS_AS(value_of(tile(x, times), {{times, {2, -3}}}), const Error&);
  check_gradient([](const auto& in) { return tile(in[0], {2, 3}); }, {random_doubles({2, 3}, 1)});
}

TEST_CASE("gather") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1, 2, 3}, {4, 5, 6}});
  CHECK(numbers(gather(x, {1, 1, 0})) == Numbers{4, 5, 6, 4, 5, 6, 1, 2, 3});
  CHECK(numbers(gather(x, 1)) == Numbers{4, 5, 6});
  CHECK(numbers(gather(x, {2, 0}, {.axis = 1})) == Numbers{3, 1, 6, 4});
  CHECK(value_of(gather(x, {{0}, {1}}, {.axis = -1})).shape() == Shape{2, 2, 1});
  const Tensor i = placeholder(int64, {.shape = {None}});
  CHECK(numbers(gather(x, i), {{i, {0}}}) == Numbers{1, 2, 3});
  for (const int wrong : {2, -1}) {
    CHECK_THROWS_WITH_AS(value_of(gather(x, i), {{i, {0, wrong}}}),
                         doctest::Contains("is not in [0, 2)"),
                         const errors::InvalidArgumentError&);
  }
  CHECK_THROWS_AS(gather(x, {0.5}), const TypeError&);
}

TEST_CASE("the gradient of gather is slices along axis 0, dense along others") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}});
  const auto slope = gradients(gather(x, {{2, 0}, {2, 2}}), {x})[0];
  REQUIRE(slope.has_value());
  REQUIRE_FALSE(slope->is_dense());
  CHECK(numbers(slope->slices().indices) == Numbers{2, 0, 2, 2});
  CHECK(value_of(slope->slices().values).shape() == Shape{4, 2});
  CHECK(numbers(*slope->slices().dense_shape) == Numbers{3, 2});
  CHECK(numbers(convert_to_tensor(*slope)) == Numbers{1, 1, 0, 0, 3, 3});
  const std::vector<Array> xs = {random_doubles({4, 3}, 1)};
  check_gradient([](const auto& in) { return gather(in[0], {3, 0, 3}); }, xs);
  check_gradient([](const auto& in) { return gather(square(in[0]), 2); }, xs);
  check_gradient([](const auto& in) { return gather(in[0] * 2.0, {1}) + gather(in[0], {2}); }, xs);
  CHECK(grad_check(
            [](const auto& in) {
              return gather(in[0], {{2, 0}, {2, 2}}, {.axis = 1});
            },
            xs) == "");
}

TEST_CASE("the gradient of gather along an axis whose size only the run knows") {
  const std::vector<Array> xs = {random_doubles({4, 3}, 1)};
  const std::vector<Array> cubes = {random_doubles({2, 4, 3}, 2)};
  const testing::GradCheckOptions open{.unknown_shapes = true};
  for (const int axis : {1, -1}) {
    const auto columns = [axis](const auto& in) {
      return square(gather(in[0], {0, 0, 2}, {.axis = axis}));
    };
    CHECK(grad_check(columns, xs, open) == "");
    CHECK(grad_check(columns, cubes, open) == "");
  }
  CHECK(grad_check(
            [](const auto& in) {
              return gather(in[0], {{2, 0}, {3, 2}}, {.axis = 1});
            },
            cubes, open) == "");
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None, None}});
  const Tensor keep = placeholder(bool_, {.shape = {None}});
  const auto slope = gradients(square(boolean_mask(x, keep, {.axis = 1})), {x})[0];
  REQUIRE(slope.has_value());
  CHECK(slope->dense().shape() == Shape{None, None});
  const Array value = value_of(cast(reshape(range(12), {3, 4}), float32));
  const Array mask = testing::array_of(bool_, {4}, {1, 0, 1, 1});
  CHECK(numbers(slope->dense(), {{x, value}, {keep, mask}}) ==
        Numbers{0, 0, 4, 6, 8, 0, 12, 14, 16, 0, 20, 22});
}

}  // namespace
}  // namespace towerflow
