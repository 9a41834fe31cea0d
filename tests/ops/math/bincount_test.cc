#include <doctest/doctest.h>

#include "core/graph/op_builder.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

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

}  // namespace
}  // namespace towerflow
