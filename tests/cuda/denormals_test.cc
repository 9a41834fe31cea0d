// Numbers below 1.2e-38 on emulated GPUs. The values are those of the CPU (tests/core/runtime/
// denormals_test.cc) and of TensorFlow, which compiles its kernels with -ftz=true.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Returns how many elements have bits other than those of zero.
std::int64_t nonzero(const Array& array) {
  const auto* bits = static_cast<const std::uint32_t*>(array.raw());
  return std::count_if(bits, bits + array.elements(),
                       [](std::uint32_t one) { return (one & 0x7FFFFFFFU) != 0; });
}

}  // namespace

TEST_CASE("denormal numbers are zero to the kernels of a GPU") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto gpu = tf::device("/gpu:0");
  const Tensor x = tf::placeholder(tf::float32, {.shape = Shape{None}});
  const std::vector<Fetch> fetches = {x * 1.0F, x * 0.25F, tf::nn::relu(x), tf::reduce_sum(x, {0}),
                                      tf::matmul(tf::reshape(x, {1, 3}), tf::ones({3, 1}))};
  ConfigProto config;
  config.cuda = {.count = 1, .emulated = true};
  Session session(graph, config);
  const auto count = [&](const std::vector<float>& numbers) {
    std::vector<std::int64_t> counts;
    for (const Array& one : session.run(fetches, {{x, Array::of<float>(Shape{3}, numbers)}})) {
      counts.push_back(nonzero(one));
    }
    return counts;
  };
  CHECK(count({1e-40F, 1e-40F, 1e-40F}) == std::vector<std::int64_t>{0, 0, 0, 0, 0});
  CHECK(count({1e-40F, 2e-38F, 1e-40F}) == std::vector<std::int64_t>{1, 0, 1, 1, 1});
}
