// Tests of split, pad, one_hot and gather beyond tests/golden, which compares their values and
// nodes with TensorFlow's.
#include <doctest/doctest.h>

#include <limits>

#include "tests/support/check_gradient.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::array_of;
using testing::check_gradient;
using testing::numbers;
using testing::random_doubles;
using testing::value_of;

using Numbers = std::vector<double>;
using Tensors = std::vector<Tensor>;

TEST_CASE("gradients of pieces") {
  const std::vector<Array> xs = {random_doubles({2, 6}, 1)};
  check_gradient([](const Tensors& in) { return split(in[0], 3, 1)[1]; }, xs);
  check_gradient([](const Tensors& in) { return split(in[0], 2)[1]; }, xs);
  check_gradient(
      [](const Tensors& in) {
        const Tensors parts = split(in[0], {2, -1, 1}, -1);
        return parts[0] * reduce_sum(parts[1], 1, {.keepdims = true});
      },
      xs);
}

TEST_CASE("gradients of what was padded") {
  const std::vector<Array> xs = {random_doubles({3, 4}, 1)};
  for (const char* mode : {"CONSTANT", "REFLECT", "SYMMETRIC"}) {
    const std::string wanted = mode;
    check_gradient([&](const Tensors& in) { return pad(in[0], {{2, 1}, {0, 3}}, wanted); }, xs);
  }
  check_gradient(
      [](const Tensors& in) {
        return pad(in[0], {{1, 0}, {0, 1}}, "CONSTANT", {.constant_values = 2.0});
      },
      xs);
}

TEST_CASE("a tensor of many elements, in several slices") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor rows = range(0, 300000, 1);
  const Tensor hot = one_hot(rows % 7, 7);
  CHECK(numbers(reduce_sum(hot))[0] == 300000);
  CHECK(numbers(reduce_sum(cast(argmax(hot, 1), int32) - rows % 7))[0] == 0);
  const Array parts = value_of(split(reshape(rows, {2, 150000}), 3, 1)[2]);
  CHECK(parts.shape() == Shape{2, 50000});
  CHECK(parts.data<std::int32_t>()[50000] == 250000);
}

TEST_CASE("nothing to split, pad or mark") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor none = zeros({0, 4});
  CHECK(value_of(split(none, 2, 1)[1]).shape() == Shape{0, 2});
  CHECK(value_of(split(zeros({4}), {4, 0})[1]).shape() == Shape{0});
  CHECK(numbers(pad(none, {{1, 0}, {0, 0}})) == Numbers{0, 0, 0, 0});
  CHECK(value_of(pad(none, {{0, 0}, {1, 1}}, "SYMMETRIC")).shape() == Shape{0, 6});
  CHECK_THROWS_AS(value_of(pad(none, {{0, 0}, {1, 1}}, "REFLECT")),
                  const errors::InvalidArgumentError&);
  CHECK(numbers(pad(constant(3), Array::zeros(int32, {0, 2}))) == Numbers{3});
  CHECK(value_of(one_hot(zeros({0}, {.dtype = int32}), 3)).shape() == Shape{0, 3});
  CHECK(value_of(one_hot(zeros({2, 0}, {.dtype = int32}), 3, {.axis = 0})).shape() ==
        Shape{3, 2, 0});
}

TEST_CASE("strings") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor words = constant(Operand(Nested({"a", "b", "c"})));
  CHECK(value_of(split(words, 3)[2]).data<std::string>()[0] == "c");
  const Array mirrored = value_of(pad(words, {{2, 1}}, "REFLECT"));
  CHECK(mirrored.data<std::string>()[0] == "c");
  CHECK(mirrored.data<std::string>()[5] == "b");
  const Array marked = value_of(one_hot(1, 2, {.on_value = "yes", .off_value = "no"}));
  CHECK(marked.data<std::string>()[0] == "no");
  CHECK(marked.data<std::string>()[1] == "yes");
}

TEST_CASE("sizes and axes that only a run knows") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32);
  const Tensor sizes = placeholder(int64, {.shape = {2}});
  const Tensor axis = placeholder(int32, {.shape = Shape{}});
  const Tensors parts = split(x, sizes, axis);
  Session session(graph);
  const Array value = array_of(float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers(session.run(parts[1], {{x, value}, {sizes, {1, -1}}, {axis, 1}})) ==
        Numbers{2, 3, 5, 6});
  CHECK(numbers(session.run(parts[0], {{x, value}, {sizes, {1, 1}}, {axis, -2}})) ==
        Numbers{1, 2, 3});
  CHECK_THROWS_AS(session.run(parts[0], {{x, value}, {sizes, {1, 1}}, {axis, 1}}), const Error&);
  CHECK_THROWS_AS(session.run(parts[0], {{x, value}, {sizes, {1, 1}}, {axis, 2}}), const Error&);
  const Tensor depth = placeholder(int32, {.shape = Shape{}});
  const Tensor hot = one_hot({1, 0}, depth);
  CHECK(hot.shape().text() == Shape({2, None}).text());
  CHECK(numbers(session.run(hot, {{depth, 2}})) == Numbers{0, 1, 1, 0});
  CHECK_THROWS_AS(session.run(hot, {{depth, -2}}), const Error&);
}

TEST_CASE("paddings that no memory has") {
  Graph graph;
  const auto guard = graph.as_default();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Tensor x = zeros({2, 2});
  CHECK_THROWS_AS(pad(x, {{most, most}, {0, 0}}), const ValueError&);
  CHECK_THROWS_AS(pad(x, {{most, 0}, {0, 0}}), const ValueError&);
  CHECK_THROWS_AS(value_of(pad(x, {{most / 2, 0}, {most / 2, 0}})), const Error&);
}

TEST_CASE("the gradient of a gather along an axis that only the run knows is refused") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor params = constant(array_of(float32, {2, 2}, {1, 2, 3, 4}));
  const Tensor axis = placeholder(int32, {.shape = {}});
  const Tensor y =
      graph.add({.op = "GatherV2", .name = "imported", .inputs = {params, constant({0}), axis}})
          .output(0);
  CHECK_THROWS_WITH_AS(gradients(y, params), doctest::Contains("known before the run"), ValueError);
}

}  // namespace
}  // namespace towerflow
