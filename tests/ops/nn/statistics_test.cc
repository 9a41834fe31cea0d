#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

TEST_CASE("the axes of sufficient statistics are within the rank") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = zeros({2, 3});
  CHECK(testing::value_of(nn::sufficient_statistics(x, {-1}).counts).item<float>() == 3);
  CHECK_THROWS_WITH_AS(nn::sufficient_statistics(x, {2}),
                       doctest::Contains("Axis 2 is out of range for shape"), ValueError);
  CHECK_THROWS_WITH_AS(nn::sufficient_statistics(x, {-3}),
                       doctest::Contains("Axis -3 is out of range for shape"), ValueError);
}

}  // namespace
}  // namespace towerflow
