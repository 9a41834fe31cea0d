// Tests of dropout and other activations beyond tests/golden, which compares their values and nodes
// with TensorFlow's.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/check_gradient.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using testing::check_gradient;
using testing::numbers;
using testing::random_between;

using Tensors = std::vector<Tensor>;

TEST_CASE("slopes of the activations") {
  const std::vector<Array> xs = {random_between({3, 4}, -3, 9, 1)};
  check_gradient([](const Tensors& in) { return nn::elu(in[0]); }, xs);
  check_gradient([](const Tensors& in) { return nn::selu(in[0]); }, xs);
  check_gradient([](const Tensors& in) { return nn::softplus(in[0]); }, xs);
  check_gradient([](const Tensors& in) { return nn::softsign(in[0]); }, xs);
  check_gradient([](const Tensors& in) { return nn::relu6(in[0]); }, xs);
  check_gradient([](const Tensors& in) { return nn::leaky_relu(in[0], 0.3F); }, xs);
  check_gradient([](const Tensors& in) { return nn::l2_normalize(in[0], 1); }, xs);
}

TEST_CASE("NaN stays NaN") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(std::nan(""));
  for (const Tensor& y : {nn::elu(x), nn::selu(x), nn::softplus(x), nn::softsign(x), nn::relu6(x),
                          nn::leaky_relu(x)}) {
    CAPTURE(y.name());
    CHECK(std::isnan(numbers(y)[0]));
  }
}

TEST_CASE("dropout keeps the mean, and its gradient what was kept") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = ones({100, 100});
  const Tensor y = nn::dropout(x, 0.8, {.seed = 1});
  const Tensor slope = gradients(y, {x})[0]->dense();
  Session session(graph);
  const auto both = session.run({y, slope});
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < 10000; ++i) {
    const float value = both[0].data<float>()[i];
    CHECK((value == 0 || value == 1.25F));
    kept += value != 0 ? 1 : 0;
  }
  // Six standard deviations of the count of 10,000 draws.
  CHECK(std::abs(static_cast<double>(kept) - 8000) < 6 * 40);
  CHECK(numbers(both[0]) == numbers(both[1]));
  const std::vector<double> first = numbers(both[0]);
  CHECK(numbers(session.run(y)) != first);
  Session again(graph);
  CHECK(numbers(again.run(y)) == first);
}

TEST_CASE("whole rows are dropped where the noise has size 1") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor y = nn::dropout(ones({50, 4}), 0.5, {.noise_shape = Operand({50, 1}), .seed = 2});
  const std::vector<double> values = numbers(y);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == values[i / 4 * 4]);
}

TEST_CASE("keep_prob is fed: training drops, evaluation does not") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor keep = placeholder(float32, {.shape = Shape{}});
  const Tensor x = constant({1.0, 2.0, 3.0});
  const Tensor y = nn::dropout(x, keep);
  CHECK(numbers(y, {{keep, 1.0}}) == std::vector<double>{1, 2, 3});
  CHECK_THROWS_AS(nn::dropout(x, 1.2), const ValueError&);
  CHECK_THROWS_AS(nn::dropout(x, std::nan("")), const ValueError&);
  CHECK_THROWS_AS(nn::dropout(x, Array::of<double>({2}, {0.5, 0.5})), const ValueError&);
}

}  // namespace
}  // namespace towerflow
