// Results and errors that a change of a kernel must not alter unseen: found by tests/mutation.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "core/graph/op_builder.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::value_of;

TEST_CASE("check_numerics finds a value in every slice of a large tensor") {
  constexpr std::int64_t kElements = 1 << 20;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32);
  const Tensor checked = check_numerics(x, "checked");
  Session session(graph, ConfigProto{.intra_op_parallelism_threads = 4});
  Array values(float32, Shape{kElements});
  for (std::int64_t i = 0; i < kElements; ++i) values.data<float>()[i] = static_cast<float>(i);
  const Array same = session.run(checked, {{x, values}});
  const auto wanted = values.flat<float>(), found = same.flat<float>();
  CHECK(std::equal(wanted.begin(), wanted.end(), found.begin()));
  for (std::int64_t at = 1; at < kElements; at += kElements / 16 - 1) {
    CAPTURE(at);
    Array broken = Array::zeros(float32, Shape{kElements});
    broken.data<float>()[at] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_AS(session.run(checked, {{x, broken}}), errors::InvalidArgumentError);
  }
}

TEST_CASE("a DenseBincount of a graph from a file has at most two dimensions") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor numbers = placeholder(int32);
  const Operand x(numbers), size(2), weights(Array::zeros(int32, Shape{0}));
  const Tensor counts = OpBuilder("DenseBincount", "", Site::current(), {&x, &size, &weights})
                            .input(x, "input", "Tidx")
                            .input(size, "size", "Tidx")
                            .input(weights, "weights", "T")
                            .output();
  Session session(graph);
  const auto counted = [&](const Shape& shape) {
    return session.run(counts, {{numbers, Array::zeros(int32, shape)}}).shape();
  };
  CHECK(counted({3}) == Shape{2});
  CHECK(counted({4, 3}) == Shape{4, 2});
  CHECK_THROWS_AS(counted({4, 3, 1}), errors::InvalidArgumentError);
  CHECK_THROWS_AS(counted({}), errors::InvalidArgumentError);
}

TEST_CASE("the axes of sufficient statistics are within the rank") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = zeros({2, 3});
  CHECK(value_of(nn::sufficient_statistics(x, {-1}).counts).item<float>() == 3);
  CHECK_THROWS_WITH_AS(nn::sufficient_statistics(x, {2}),
                       doctest::Contains("Axis 2 is out of range for shape"), ValueError);
  CHECK_THROWS_WITH_AS(nn::sufficient_statistics(x, {-3}),
                       doctest::Contains("Axis -3 is out of range for shape"), ValueError);
}

TEST_CASE("the gradient of max_pool_with_argmax takes no index beyond its image") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = ones({2, 2, 2, 1});
  const auto pooled = nn::max_pool_with_argmax(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  const Tensor dx = convert_to_tensor(*gradients(pooled.output, {x})[0]);
  Session session(graph);
  const auto run = [&](std::vector<std::int64_t> places) {
    return session.run(dx, {{pooled.argmax, Array::of<std::int64_t>(Shape{2, 1, 1, 1}, places)}});
  };
  const Array found = run({3, 0});
  CHECK(found.data<float>()[3] == 1);
  CHECK(found.data<float>()[4] == 1);
  for (const std::int64_t place : {-1, 4, 99}) {
    CHECK_THROWS_AS(run({0, place}), errors::InvalidArgumentError);
  }
}

TEST_CASE("Print is added to the graph of its tensor, wherever that stands") {
  Graph other;
  Tensor x;
  {
    const auto guard = other.as_default();
    x = constant(1.0);
  }
  Graph graph;
  const auto guard = graph.as_default();
  const std::size_t before = graph.size();
  CHECK(&Print(x, {1.0, "text"}).graph() == &other);
  CHECK(&Print(2.0, {x, 3.0}).graph() == &other);
  CHECK(graph.size() == before);
}

}  // namespace
}  // namespace towerflow
