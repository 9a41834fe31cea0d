// constant, placeholder, zeros, ones, fill, cast.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/eager.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::array_of;
using testing::numbers;
using testing::random_doubles;
using testing::value_of;

TEST_CASE("constants of numbers, braces, vectors, arrays, strings") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(numbers(constant({{1, 2}, {3, 4}})) == std::vector<double>{1, 2, 3, 4});
  CHECK(numbers(constant(std::vector<float>{1.5f, 2})) == std::vector<double>{1.5, 2});
  CHECK(numbers(constant({1, 2}, {.shape = Shape{2, 2}})) == std::vector<double>{1, 2, 2, 2});
  CHECK(numbers(constant({1, 2, 3, 4}, {.shape = Shape{2, 2}})).size() == 4);
  CHECK(numbers(constant(300, {.dtype = uint8}))[0] == 44);
  CHECK(value_of(constant("text")).item<std::string>() == "text");
  const Array words = value_of(constant("a", {.shape = Shape{2}}));
  CHECK(words.data<std::string>()[1] == "a");
  const Array floats = array_of(float64, {2}, {1.5, -2.5});
  CHECK(value_of(constant(floats)) == floats);
  CHECK(numbers(constant(floats, {.dtype = int32})) == std::vector<double>{1, -2});
  CHECK_THROWS_WITH_AS(constant({1, 2, 3}, {.shape = Shape{2}}),
                       doctest::Contains("Too many elements provided. Takes at most 2, but got 3."),
                       const ValueError&);
  CHECK_THROWS_AS(constant(Operand({Nested({1, 2}), Nested({3})})), const ValueError&);
  CHECK_THROWS_AS(constant(1, {.dtype = string}), const TypeError&);
  CHECK_THROWS_AS(constant(1, {.shape = Shape{None}}), const ValueError&);
  CHECK_THROWS_AS(constant(value_of(constant("a")), {.dtype = float32}), const TypeError&);
}

TEST_CASE("a list written out as an operand is a list, also of one value") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor x = constant(1.0);
  for (const Operand& list : {Operand({1}), Operand({1.0}), Operand({1.0F}), Operand({true}),
                              Operand({"a"}), Operand({x}), Operand({1, 2}), Operand({1.0, 2}),
                              Operand({x, 2.0}), Operand{1}, Operand{1.0, 2}, Operand{x}}) {
    CHECK(convert_to_tensor(list).shape().rank() == 1);
  }
  for (const Operand& list :
       {Operand({std::vector<int>{1, 2}}), Operand({{1, 2}}), Operand({{1}, {2}})}) {
    CHECK(convert_to_tensor(list).shape().rank() == 2);
  }
}

TEST_CASE("an absent gradient in such a list is an error of the line that says it") {
  const OptionalGradient absent;
  CHECK_THROWS_WITH_AS(Operand({absent, absent}), doctest::Contains("constant_test.cc"),
                       const ValueError&);
}

// As in TensorFlow 2.21, where make_tensor_proto converts no values if the shape has no elements.
TEST_CASE("a constant without elements takes any value, but none for text") {
  Graph graph;
  const auto guard = graph.as_default();
  for (const Nested& value : {Nested(2.5), Nested("a"), Nested(true), Nested{1.5, 2.5}}) {
    const Array array = value_of(constant(value, {.dtype = int32, .shape = Shape{0, 3}}));
    CHECK(array.dtype() == int32);
    CHECK(array.shape() == Shape{0, 3});
  }
  CHECK(value_of(constant({1.5, 2.5}, {.shape = Shape{0}})).dtype() == float32);
  CHECK_THROWS_AS(constant(1.5, {.dtype = string, .shape = Shape{0}}), const TypeError&);
  CHECK_THROWS_AS(constant(array_of(float64, {2}, {1, 2}), {.dtype = int32, .shape = Shape{0}}),
                  const ValueError&);
  CHECK(
      get_variable("w", {0}, {.dtype = int32, .initializer = constant_initializer(2.0)}).dtype() ==
      int32);
}

TEST_CASE("an array given to constant may change afterwards") {
  Graph graph;
  const auto guard = graph.as_default();
  Array array = array_of(float32, {1}, {1});
  const Tensor x = constant(array);
  array.data<float>()[0] = 7;
  CHECK(numbers(x)[0] == 1);
}

TEST_CASE("a placeholder that is not fed says so") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None, 3}, .name = "x"});
  const Tensor y = x * 2;
  Session session(graph);
  CHECK_THROWS_WITH_AS(session.run(y),
                       doctest::Contains("You must feed a value for placeholder tensor 'x' with "
                                         "dtype float and shape [?,3]"),
                       const errors::InvalidArgumentError&);
  const Tensor i = placeholder(int64, {.shape = {2}, .name = "i"});
  CHECK_THROWS_WITH_AS(session.run(i + i),
                       doctest::Contains("placeholder tensor 'i' with dtype int64 and shape [2]"),
                       const errors::InvalidArgumentError&);
  const Tensor q = placeholder(float64, {.name = "q"});
  CHECK_THROWS_WITH_AS(session.run(q), doctest::Contains("dtype double and shape <unknown>"),
                       const errors::InvalidArgumentError&);
  const Array value = array_of(float32, {1, 3}, {1, 2, 3});
  CHECK(numbers(session.run(y, {{x, value}})) == std::vector<double>{2, 4, 6});
  CHECK_THROWS_AS(session.run(y, {{x, array_of(float32, {2}, {1, 2})}}), const ValueError&);
}

TEST_CASE("zeros, ones, fill and their likes") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(numbers(zeros({2})) == std::vector<double>{0, 0});
  CHECK(numbers(ones({3}, {.dtype = int32})) == std::vector<double>{1, 1, 1});
  CHECK(numbers(reduce_sum(ones({70000})))[0] == 70000);
  CHECK(value_of(zeros({2}, {.dtype = string})).data<std::string>()[0].empty());
  CHECK_THROWS_AS(ones({2}, {.dtype = string}), const TypeError&);
  CHECK_THROWS_AS(zeros({None}), const ValueError&);
  CHECK(value_of(fill({2, 0}, 1)).shape() == Shape{2, 0});
  CHECK(value_of(fill({2}, "ab")).data<std::string>()[1] == "ab");
  const Tensor u = placeholder(float32, {.shape = {None, 2}});
  const Array value = array_of(float32, {3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(value_of(zeros_like(u), {{u, value}}) == Array::zeros(float32, {3, 2}));
  CHECK(value_of(ones_like(u, {.dtype = int32}), {{u, value}}).shape() == Shape{3, 2});
  CHECK(numbers(ones(shape(u)), {{u, value}}) == std::vector<double>(6, 1));
  const Tensor sizes = placeholder(int32, {.shape = {None}});
  Session session(graph);
  const Tensor filled = fill(sizes, 2.0) + 1.0;
  CHECK(session.run(filled, {{sizes, {2, 2}}}).shape() == Shape{2, 2});
  CHECK(session.run(filled, {{sizes, {3}}}).shape() == Shape{3});
  CHECK_THROWS_AS(session.run(filled, {{sizes, {-3}}}), const Error&);
  CHECK_THROWS_AS(fill({1 << 30, 1 << 30, 1 << 30}, 1), const ValueError&);
  const auto f = [](const std::vector<Tensor>& in) { return fill({2, 3}, in[0]); };
  CHECK(testing::grad_check(f, {array_of(float64, {}, {2})}) == "");
}

TEST_CASE("casts between all dtypes, against plain conversions") {
  const std::vector<DType> dtypes = {float32, float64, int8,   int16,  int32, int64,
                                     uint8,   uint16,  uint32, uint64, bool_};
  for (const DType from : dtypes)
    for (const DType to : dtypes) {
      Graph graph;
      const auto guard = graph.as_default();
      const bool is_signed = from == int8 || from == int16 || from == int32 || from == int64;
      std::vector<double> values = {0, 1, 2, 100};
      if (is_signed || is_floating(from)) values.insert(values.end(), {-1, -100});
      if (is_floating(from)) values.insert(values.end(), {2.75, -2.75});
      const Array x = array_of(from, {values.size()}, values);
      const Array y = value_of(cast(constant(x), to));
      CHECK(y.dtype() == to);
      Array wanted(to, x.shape());
      dispatch_dtype(from, [&]<class From>() {
        dispatch_dtype(to, [&]<class To>() {
          for (std::size_t i = 0; i < values.size(); ++i) {
            const From in = x.data<From>()[i];
            if constexpr (std::is_same_v<To, bool>)
              wanted.data<To>()[i] = in != From(0);
            else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
              wanted.data<To>()[i] = static_cast<To>(static_cast<std::int64_t>(in));
            else
              wanted.data<To>()[i] = static_cast<To>(in);
          }
        });
      });
      CAPTURE(dtype_name(from));
      CAPTURE(dtype_name(to));
      CHECK(y == wanted);
    }
}

TEST_CASE("casts of numbers out of range and of NaN are defined") {
  Graph graph;
  const auto guard = graph.as_default();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType from : {float32, float64}) {
    const Tensor x = constant({3e10, -3e10, nan, 1e300}, {.dtype = from});
    const double low32 = std::numeric_limits<std::int32_t>::min();
    CHECK(numbers(cast(x, int32)) == std::vector<double>(4, low32));
    const auto wide = numbers(cast(x, int64));
    CHECK(wide[2] == static_cast<double>(std::numeric_limits<std::int64_t>::min()));
    CHECK(wide[3] == wide[2]);
    CHECK(numbers(cast(x, bool_)) == std::vector<double>(4, 1));
    for (const DType to : {int8, uint8, int16, uint16, uint32, uint64}) {
      CHECK(numbers(cast(x, to)).size() == 4);
    }
  }
}

TEST_CASE("casts: many elements, gradients, errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor many = cast(range(100000), float32);
  CHECK(numbers(reduce_max(many))[0] == 99999);
  const auto f = [](const std::vector<Tensor>& in) { return cast(cast(in[0], float32), float64); };
  CHECK(testing::grad_check(f, {random_doubles({3}, 1)}, {.tolerance = 1e-2, .step = 1e-2}) == "");
  const Tensor x = constant({1.0, 2.0});
  CHECK_FALSE(gradients(cast(cast(x, int32), float32), {x})[0].has_value());
  CHECK_THROWS_AS(cast(constant("a"), float32), const TypeError&);
  CHECK_THROWS_AS(cast(x, string), const TypeError&);
}

TEST_CASE("placeholder: the shape in TensorFlow's place for it") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(placeholder(float32, {None, 3}).shape() == Shape{None, 3});
  CHECK(placeholder(float32, {2}, {.name = "x"}).name() == "x:0");
  CHECK(placeholder(float32, {}).shape() == Shape{});
  CHECK(placeholder(float32, Shape{2, 2}).shape() == Shape{2, 2});
  CHECK(placeholder(float32, {.shape = {4}}).shape() == Shape{4});
  CHECK(!placeholder(float32).shape().has_rank());
  CHECK(!placeholder(float32, {.name = "y"}).shape().has_rank());
}

}  // namespace
}  // namespace towerflow
