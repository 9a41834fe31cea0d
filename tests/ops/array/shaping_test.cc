// reshape, slice, strided_slice, transpose, where, broadcast_to, shape, rank, size, tuple.
#include <doctest/doctest.h>

#include "ops/control/tuple.h"
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

TEST_CASE("reshape with sizes known only in the run") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({1, 2, 3, 4, 5, 6});
  const Tensor sizes = placeholder(int32, {.shape = {None}});
  const Tensor y = reshape(x, sizes) + 0;
  Session session(graph);
  CHECK(session.run(y, {{sizes, {2, 3}}}).shape() == Shape{2, 3});
  CHECK(session.run(y, {{sizes, {3, -1}}}).shape() == Shape{3, 2});
  for (const Nested& wrong : {Nested({-1, -1}), Nested({4, 2}), Nested({-2, 3}), Nested({0, -1})}) {
    CHECK_THROWS_AS(session.run(y, {{sizes, wrong}}), const Error&);
  }
  CHECK_THROWS_AS(session.run(reshape(x, {-1, -1})), const errors::InvalidArgumentError&);
  CHECK_THROWS_AS(reshape(x, {1 << 30, 1 << 30, 1 << 30}), const ValueError&);
  CHECK_THROWS_AS(expand_dims(x, std::vector<int>{}), const ValueError&);
}

TEST_CASE("slice") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = reshape(range(24), {2, 3, 4});
  CHECK(numbers(slice(x, {1, 0, 1}, {1, 2, 2})) == Numbers{13, 14, 17, 18});
  CHECK(numbers(slice(x, {0, 2, 3}, {-1, -1, -1})) == Numbers{11, 23});
  CHECK(value_of(slice(x, {0, 3, 0}, {2, 0, 4})).shape() == Shape{2, 0, 4});
  const Tensor begin = placeholder(int32, {.shape = {3}});
  const Tensor part = slice(x, begin, {1, 1, 2});
  CHECK(numbers(part, {{begin, {1, 2, 2}}}) == Numbers{22, 23});
  for (const Nested& wrong : {Nested({2, 0, 0}), Nested({0, 0, 3}), Nested({-1, 0, 0})}) {
    CHECK_THROWS_AS(value_of(part, {{begin, wrong}}), const Error&);
  }
  CHECK_THROWS_AS(value_of(slice(x, {0, 0, 0}, {1, 1, 5})), const errors::InvalidArgumentError&);
  const Tensor open = placeholder(int32, {.shape = {None}});
  CHECK_THROWS_AS(value_of(slice(x, open, {1, 1, 1}), {{open, {0, 0}}}), const Error&);
  check_gradient(
      [](const auto& in) {
        return slice(in[0], {0, 1}, {2, 2});
      },
      {random_doubles({3, 4}, 1)});
}

TEST_CASE("strided_slice follows Python's slices") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor v = range(6);
  CHECK(numbers(strided_slice(v, {1}, {5}, {2})) == Numbers{1, 3});
  CHECK(numbers(strided_slice(v, {-2}, {6}, {1})) == Numbers{4, 5});
  CHECK(numbers(strided_slice(v, {4}, {0}, {-2})) == Numbers{4, 2});
  CHECK(numbers(strided_slice(v, {0}, {0}, {-1}, {.begin_mask = 1, .end_mask = 1})) ==
        Numbers{5, 4, 3, 2, 1, 0});
  CHECK(numbers(strided_slice(v, {2}, {99}, {1})) == Numbers{2, 3, 4, 5});
  CHECK(numbers(strided_slice(v, {4}, {2}, {1})).empty());
  const Tensor m = reshape(range(6), {2, 3});
  CHECK(numbers(take_index(m, 1)) == Numbers{3, 4, 5});
  CHECK(numbers(take_index(m, -1)) == Numbers{3, 4, 5});
  CHECK(numbers(strided_slice(m, {0, 1}, {2, 2}, {1, 1}, {.shrink_axis_mask = 2})) ==
        Numbers{1, 4});
  CHECK_THROWS_AS(take_index(m, 2), const ValueError&);
  CHECK_THROWS_AS(strided_slice(v, {0}, {1}, {0}), const ValueError&);
  CHECK_THROWS_AS(strided_slice(v, {0, 0}, {1, 1}, {1, 1}), const ValueError&);
  const Tensor begin = placeholder(int32, {.shape = {1}});
  const Tensor tail = strided_slice(v, begin, {6}, {1});
  CHECK(numbers(tail, {{begin, {4}}}) == Numbers{4, 5});
  check_gradient(
      [](const auto& in) {
        return strided_slice(in[0], {2, 0}, {0, 3}, {-1, 2});
      },
      {random_doubles({3, 4}, 1)});
  check_gradient([](const auto& in) { return take_index(in[0], -2); }, {random_doubles({3, 4}, 1)});
}

TEST_CASE("transpose") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = reshape(range(6), {2, 3});
  CHECK(numbers(transpose(x)) == Numbers{0, 3, 1, 4, 2, 5});
  const Tensor cube = reshape(range(24), {2, 3, 4});
  const Array turned = value_of(transpose(cube, {2, 0, 1}));
  CHECK(turned.shape() == Shape{4, 2, 3});
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t k = 0; k < 3; ++k)
        CHECK(turned.data<std::int32_t>()[(i * 2 + j) * 3 + k] == (j * 3 + k) * 4 + i);
  const Tensor perm = placeholder(int32, {.shape = {2}});
  CHECK(numbers(transpose(x, perm), {{perm, {1, 0}}}) == Numbers{0, 3, 1, 4, 2, 5});
  CHECK_THROWS_AS(value_of(transpose(x, perm), {{perm, {1, 1}}}), const Error&);
  CHECK_THROWS_AS(value_of(transpose(x, {1, 1})), const errors::InvalidArgumentError&);
  CHECK_THROWS_AS(transpose(x, {0, 2}), const ValueError&);
  const Tensor q = placeholder(int32);
  CHECK(value_of(transpose(q), {{q, array_of(int32, {1, 2, 3}, {1, 2, 3, 4, 5, 6})}}).shape() ==
        Shape{3, 2, 1});
  check_gradient(
      [](const auto& in) {
        return transpose(in[0], {2, 0, 1});
      },
      {random_doubles({2, 3, 2}, 1)});
}

TEST_CASE("where") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({{1, 2}, {3, 4}});
  const Tensor y = constant({{5, 6}, {7, 8}});
  CHECK(numbers(where(constant({{true, false}, {false, true}}), x, y)) == Numbers{1, 6, 7, 4});
  CHECK(numbers(where(constant({true, false}), x, y)) == Numbers{1, 2, 7, 8});
  CHECK(numbers(where(constant(true), x, y)) == Numbers{1, 2, 3, 4});
  CHECK(numbers(where_v2(constant({true, false}), x, y)) == Numbers{1, 6, 3, 8});
  CHECK(numbers(where_v2(x > 2, x, 0)) == Numbers{0, 0, 3, 4});
  CHECK(value_of(where_v2(constant({{true}, {false}}), "a", "b")).data<std::string>()[1] == "b");
  CHECK_THROWS_AS(where(x, x, y), const TypeError&);
  CHECK_THROWS_AS(where(constant({true, false, true}), x, y), const ValueError&);
  const std::vector<Array> xs = {random_doubles({2, 3}, 1), random_doubles({2, 3}, 2)};
  check_gradient([](const auto& in) { return where(in[0] > 0.1, in[0], in[1]); }, xs);
  check_gradient([](const auto& in) { return where_v2(in[0] > 0.1, in[0], take_index(in[1], 0)); },
                 xs);
}

TEST_CASE("broadcast_to, shape, rank, size") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(numbers(broadcast_to(constant({{1}, {2}}), {2, 2, 2})) == Numbers{1, 1, 2, 2, 1, 1, 2, 2});
  const Tensor u = placeholder(float32, {.shape = {None, 3}});
  const Array value = array_of(float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers(broadcast_to(constant(7), shape(u)), {{u, value}}) == Numbers(6, 7));
  CHECK(numbers(shape(u), {{u, value}}) == Numbers{2, 3});
  CHECK(numbers(size(u) + rank(u), {{u, value}}) == Numbers{8});
  const Tensor q = placeholder(float32);
  CHECK(numbers(rank(q), {{q, value}}) == Numbers{2});
  CHECK_THROWS_AS(broadcast_to(u, {2, 4}), const ValueError&);
  const Tensor sizes = placeholder(int32, {.shape = {None}});
  CHECK_THROWS_AS(value_of(broadcast_to(u, sizes), {{u, value}, {sizes, {3}}}), const Error&);
  check_gradient(
      [](const auto& in) {
        return broadcast_to(in[0], {2, 3, 2});
      },
      {random_doubles({3, 1}, 1)});
}

TEST_CASE("slices as a dense tensor") {
  Graph graph;
  const auto guard = graph.as_default();
  const IndexedSlices slices{constant({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), constant({1, 3, 1}),
                             constant({4, 2})};
  CHECK(numbers(convert_to_tensor(slices)) == Numbers{0, 0, 6, 8, 0, 0, 3, 4});
  CHECK_THROWS_WITH_AS(
      convert_to_tensor(IndexedSlices{slices.values, slices.indices, std::nullopt}),
      doctest::Contains("without dense_shape"), const ValueError&);
}

TEST_CASE("tuple keeps values and what is absent") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant({1.0, 2.0});
  const IndexedSlices slices{constant({{1.0}}), constant({0}), constant({2, 1})};
  const auto gated = tuple(std::vector<OptionalGradient>{Gradient(x), std::nullopt, slices});
  REQUIRE(gated.size() == 3);
  CHECK(numbers(gated[0]->dense()) == Numbers{1, 2});
  CHECK_FALSE(gated[1].has_value());
  CHECK(numbers(convert_to_tensor(*gated[2])) == Numbers{1, 0});
  CHECK(gated[0]->dense().op().control_inputs().size() == 1);
  CHECK(grad_check(
            [](const auto& in) {
              return tuple({in[0], in[1]})[1] * in[0];
            },
            {random_doubles({2}, 1), random_doubles({2}, 2)}) == "");
}

}  // namespace
}  // namespace towerflow
