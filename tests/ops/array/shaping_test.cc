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

TEST_CASE("sizes whose product or sum 64 bits do not hold") {
  Graph graph;
  const auto guard = graph.as_default();
  const std::int64_t large = std::int64_t{1} << 32;
  const std::int64_t larger = std::int64_t{1} << 62;
  const Tensor many = placeholder(float32, {.shape = {None, large, large}});
  CHECK_THROWS_WITH_AS(reshape(many, {1}), doctest::Contains("is too large"), ValueError);
  CHECK_THROWS_WITH_AS(reshape(many, {0}), doctest::Contains("is too large"), ValueError);
  const Tensor mask = placeholder(bool_, {.shape = {large, large, None}});
  CHECK_THROWS_AS(boolean_mask(many, mask), ValueError);
  const Tensor masked = placeholder(float32, {.shape = {large, large, None}});
  CHECK_THROWS_WITH_AS(boolean_mask(masked, placeholder(bool_, {.shape = {None, None}})),
                       doctest::Contains("is too large"), ValueError);
  const Tensor rows = placeholder(float32, {.shape = {large, large, None}});
  CHECK_THROWS_AS(nn::softmax_cross_entropy_with_logits_v2({.labels = rows, .logits = rows}),
                  ValueError);
  const Tensor row = placeholder(float32, {.shape = {larger}});
  CHECK_THROWS_WITH_AS(concat({row, row}, 0),
                       doctest::Contains("Dimension size overflow from adding"), ValueError);
}

TEST_CASE("a mask of two dimensions joins the sizes it masks") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3, 4, 5}});
  const Tensor mask = placeholder(bool_, {.shape = {3, 4}});
  CHECK(boolean_mask(x, mask, {.axis = 1}).shape() == Shape{2, None, 5});
  const Array values = array_of(float32, {2, 3, 4, 5}, std::vector<double>(120, 1));
  const Array chosen = array_of(bool_, {3, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1});
  CHECK(value_of(boolean_mask(x, mask, {.axis = 1}), {{x, values}, {mask, chosen}}).shape() ==
        Shape{2, 3, 5});
}

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

TEST_CASE("numbers of the run are compared with the shape that the graph has concluded") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2, 3}});
  const Array value = value_of(cast(reshape(range(6), {2, 3}), float32));
  const Tensor one = placeholder(int32, {.shape = {1}});
  const Tensor flat = reshape(x, one);
  CHECK(flat.shape() == Shape{6});
  const Tensor columns = placeholder(int32, {.shape = Shape{}});
  const Tensor table = reshape(x, stack({2, columns}));
  CHECK(table.shape() == Shape{2, 3});
  const Tensor other = placeholder(float32, {.shape = {None, 2}});
  const Tensor like = reshape(x, shape(other));
  CHECK(like.shape() == Shape{3, 2});
  Session session(graph);
  for (const int right : {6, -1}) {
    CHECK(session.run(flat, {{x, value}, {one, {right}}}) == value.reshaped({6}));
  }
  for (const int wrong : {7, 0, -2}) {
    CHECK_THROWS_AS(session.run(flat, {{x, value}, {one, {wrong}}}),
                    const errors::InvalidArgumentError&);
  }
  CHECK(session.run(table, {{x, value}, {columns, 3}}) == value);
  CHECK_THROWS_AS(session.run(table + 1.0, {{x, value}, {columns, 7}}),
                  const errors::InvalidArgumentError&);
  CHECK(session.run(like, {{x, value}, {other, Array(float32, {3, 2})}}).shape() == Shape{3, 2});
  CHECK_THROWS_AS(session.run(like, {{x, value}, {other, Array(float32, {4, 2})}}), const Error&);
}

TEST_CASE("a size of 0 and one that is open: the others say what it is") {
  struct Case {
    Shape from;
    std::vector<int> sizes;
    Shape to;
  };
  const std::vector<Case> cases = {
      {{0, 3}, {0, -1}, {0, 3}},
      {{2, 0}, {-1, 0}, {2, 0}},
      {{0, 4}, {0, 2, -1}, {0, 2, 2}},
      {{0}, {0, -1}, {0, 1}},
      {{0, 3}, {-1, 0, 2}, {1, 0, 2}},
      {{0, 2, 0}, {2, -1}, {2, 0}},
      {{0, 2, 0}, {0, 0, -1}, {0, 0, 2}},
      {{4, 0}, {8, 0, -1}, {8, 0, 0}},
      {{0, 0}, {-1, 0}, {1, 0}},
      {{0, 6}, {0, 4, -1}, {0, 4, 1}},
      {{0, 3}, {-1}, {0}},
      {{0, 2, 3}, {0, -1}, {0, 6}},
  };
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor sizes = placeholder(int32, {.shape = {None}});
  const Tensor x = placeholder(float32, {.shape = Shape::unknown()});
  const Tensor fed = reshape(x, sizes);
  Session session(graph);
  for (const Case& c : cases) {
    CAPTURE(c.from.text());
    CAPTURE(c.sizes);
    const Array value(float32, c.from);
    const Array wanted =
        testing::array_of(int32, {c.sizes.size()}, {c.sizes.begin(), c.sizes.end()});
    const Tensor known = reshape(zeros(c.from), c.sizes);
    CHECK(session.run(known).shape() == c.to);
    CHECK(session.run(reshape(x, c.sizes), {{x, value}}).shape() == c.to);
    CHECK(session.run(fed, {{x, value}, {sizes, wanted}}).shape() == c.to);
    CHECK(session.run(reshape(zeros(c.from), sizes), {{sizes, wanted}}).shape() == c.to);
    CHECK(session.run(known + 1.0).shape() == c.to);  // a reader of the reshaped tensor
  }
  // The graph leaves the size unknown, as TensorFlow's does.
  CHECK(reshape(zeros({0, 3}), {0, -1}).shape() == Shape{0, None});
  CHECK(reshape(zeros({0, 2, 0}), {2, -1}).shape() == Shape{2, 0});
  CHECK_THROWS_AS(reshape(zeros({2, 3}), {0, -1}), const ValueError&);
  CHECK_THROWS_AS(session.run(reshape(zeros({0, 3}), {0, -1, -1})),
                  const errors::InvalidArgumentError&);
  const Array text(DType::string, Shape{0, 3});
  CHECK(session.run(reshape(constant(text), {0, -1})).shape() == Shape{0, 3});
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

TEST_CASE("strides alone say how many dimensions a slice has") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {4, 5}});
  const Tensor rows = placeholder(float32, {.shape = {None, 5}});
  const Tensor open = placeholder(float32, {.shape = Shape::unknown()});
  const Tensor at = placeholder(int32, {.shape = {1}});
  const Tensor both = placeholder(int32, {.shape = {2}});
  const Tensor any = placeholder(int32, {.shape = {None}});
  const StridedSliceOptions first{.shrink_axis_mask = 1};
  const StridedSliceOptions second{.begin_mask = 1, .end_mask = 1, .shrink_axis_mask = 2};
  const Tensor row = strided_slice(x, at, at + 1, {1}, first);
  CHECK(row.shape() == Shape{5});
  CHECK(strided_slice(rows, at, at + 1, {1}, first).shape() == Shape{5});
  CHECK(strided_slice(x, any, any + 1, {1}, first).shape() == Shape{5});
  CHECK_FALSE(strided_slice(open, at, at + 1, {1}, first).shape().has_rank());
  CHECK_FALSE(strided_slice(x, {0}, {2}, at).shape().has_rank());
  const Tensor column = strided_slice(x, both, both + 1, {1, 1}, second);
  CHECK(column.shape() == Shape{4});
  CHECK(strided_slice(x, both, both + 1, {-2, 1}, second).shape() == Shape{2});
  const Tensor some = strided_slice(x, at, at + 2, {1});
  CHECK(some.shape() == Shape{None, 5});
  CHECK(strided_slice(x, {1}, at + 2, {1}, {.end_mask = 1}).shape() == Shape{None, 5});
  CHECK(strided_slice(x, at, {3}, {2}, {.begin_mask = 1, .end_mask = 1}).shape() == Shape{2, 5});
  CHECK(strided_slice(x, both, {0, 3}, {1, 1}, {.shrink_axis_mask = 1}).shape() == Shape{None});

  const Array value = value_of(cast(reshape(range(20), {4, 5}), float32));
  CHECK(numbers(row, {{x, value}, {at, {2}}}) == Numbers{10, 11, 12, 13, 14});
  CHECK(numbers(row, {{x, value}, {at, {-1}}}) == Numbers{15, 16, 17, 18, 19});
  CHECK(numbers(column, {{x, value}, {both, {0, 3}}}) == Numbers{3, 8, 13, 18});
  CHECK(value_of(some, {{x, value}, {at, {1}}}).shape() == Shape{2, 5});
  const auto slope = gradients(row, {x})[0];
  REQUIRE(slope.has_value());
  CHECK(numbers(reduce_sum(slope->dense(), 1), {{x, value}, {at, {2}}}) == Numbers{0, 0, 5, 0});
  CHECK_THROWS_AS(value_of(row, {{x, value}, {at, {4}}}), const errors::InvalidArgumentError&);
  CHECK_THROWS_AS(strided_slice(x, any, any, {1, 1, 1}), const ValueError&);
  CHECK_THROWS_AS(strided_slice(x, at, at + 1, {0}), const ValueError&);
}

TEST_CASE("a dimension that a slice drops has a stride above 0") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = zeros({4, 5});
  const StridedSliceOptions drop{.shrink_axis_mask = 1};
  CHECK_THROWS_WITH_AS(strided_slice(x, {1}, {2}, {-1}, drop),
                       doctest::Contains("only stride 1 allowed on non-range indexing."),
                       const ValueError&);
  CHECK_THROWS_AS(strided_slice(x, {9}, {2}, {0}, drop), const ValueError&);
  CHECK(strided_slice(x, {1}, {2}, {2}, drop).shape() == Shape{5});
  const Tensor stride = placeholder(int32, {.shape = {1}});
  CHECK_THROWS_AS(value_of(strided_slice(x, {1}, {2}, stride, drop), {{stride, {-1}}}),
                  const Error&);
  const Tensor rows = placeholder(float32, {.shape = {None, 5}});
  const Tensor back = strided_slice(rows, {1}, {2}, {-1}, drop);
  CHECK(back.shape() == Shape{5});
  CHECK_THROWS_AS(value_of(back, {{rows, value_of(x)}}), const Error&);
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
