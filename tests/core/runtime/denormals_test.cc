// Numbers below 1.2e-38: the expected values are TensorFlow's on a CPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

constexpr float kDenormal = 1e-40f, kNormal = 2e-38f;

/// Returns how many elements are not zero. The bits count: a comparison may take a denormal number
/// for zero.
std::int64_t nonzero(const Array& array) {
  const auto* bits = static_cast<const std::uint32_t*>(array.raw());
  return std::count_if(bits, bits + array.elements(),
                       [](std::uint32_t one) { return (one & 0x7FFFFFFFU) != 0; });
}

}  // namespace

TEST_CASE("denormal numbers are zero to the kernels of a run, on any number of threads") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = Shape{None}});
  Session session;
  for (const std::int64_t size : {3, 3000, 600000}) {
    std::vector<float> numbers(static_cast<std::size_t>(size), kDenormal);
    for (std::size_t i = 0; i < numbers.size(); i += 3) numbers[i] = kNormal;
    const Array fed = Array::of<float>(Shape{size}, numbers);
    const auto results = session.run({identity(x), x * 1.0F, x * 0.25F, tf::nn::relu(x),
                                      tf::nn::sigmoid(x - 88.0F), tf::exp(x - 87.5F)},
                                     {{x, fed}});
    CHECK(nonzero(results[0]) == size);      // a copy
    CHECK(nonzero(results[1]) == size / 3);  // an operand of each product
    for (std::size_t i : {2, 4, 5}) CHECK(nonzero(results[i]) == 0);
    CHECK(nonzero(results[3]) == size / 3);
  }
  volatile float own = kDenormal;
  own = own * 0.5f;
  CHECK(own > 0.0f);  // the program's own arithmetic is as it was
}

TEST_CASE("denormal numbers are zero where a plan computes constants") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor folded = tf::fill({4}, 1e-30F) * 1e-10F;
  Session session;
  CHECK(nonzero(session.run(folded)) == 0);
}

TEST_CASE("an optimizer's average of gradients that have become zero ends at zero") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {100}, {.initializer = tf::ones_initializer()});
  const Tensor slope = tf::placeholder(tf::float32, {.shape = Shape{}});
  tf::train::MomentumOptimizer optimizer(0.1, 0.5);
  const Operation step = optimizer.minimize(tf::reduce_sum(w) * slope);
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(step, {{slope, Array::scalar(1.0f)}});
  const auto momentum = optimizer.get_slot(w, "momentum");
  REQUIRE(momentum.has_value());
  for (int i = 0; i < 200; ++i) session.run(step, {{slope, Array::scalar(0.0f)}});
  CHECK(nonzero(session.run(*momentum)) == 0);
}
