#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

/// TensorFlow's gradients for dy = 7 at NaN, infinity, -infinity, 0 and -0.
TEST_CASE("gradients at values that are no numbers, and at 0") {
  using Row = std::vector<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {None}});
  Session session(graph);
  const auto check = [&](const char* name, const Tensor& y, const Row& expected) {
    CAPTURE(name);
    const Tensor dy = dense_gradient(gradients({y}, {x}, {.grad_ys = {{ones_like(y) * 7.0F}}})[0],
                                     Site::current());
    const Array found =
        session.run(dy, {{x, Array::of<float>({5}, Row{nan, inf, -inf, 0, -0.0F})}});
    for (std::size_t i = 0; i < 5; ++i) {
      CAPTURE(i);
      const float value = found.data<float>()[i];
      const bool same = std::isnan(expected[i])
                            ? std::isnan(value)
                            : std::abs(value - expected[i]) <= 1e-6F * std::abs(expected[i]);
      CHECK_MESSAGE((same || value == expected[i]), value << " for " << expected[i]);
    }
  };
  check("elu", nn::elu(x), {7, 7, 0, 7, 7});
  check("selu", nn::selu(x), {7.354907F, 7.354907F, 0, 7.354907F, 7.354907F});
  check("relu", nn::relu(x), {0, 7, 0, 0, 0});
  check("relu6", nn::relu6(x), {0, 0, 0, 0, 0});
  check("leaky_relu", nn::leaky_relu(x), {1.4F, 7, 1.4F, 1.4F, 1.4F});
  check("softplus", nn::softplus(x), {nan, 7, 0, 3.5F, 3.5F});
  check("softsign", nn::softsign(x), {nan, 0, 0, 7, 7});
  check("sigmoid", tf::sigmoid(x), {nan, 0, 0, 1.75F, 1.75F});
  check("tanh", tf::tanh(x), {nan, 0, 0, 7, 7});
  check("abs", tf::abs(x), {nan, 7, -7, 0, 0});
  check("sign", tf::sign(x), {0, 0, 0, 0, 0});
  check("sqrt", tf::sqrt(x), {nan, 0, nan, inf, -inf});
  check("maximum", tf::maximum(x, 0.0F), {0, 7, 0, 7, 7});
  check("minimum", tf::minimum(x, 0.0F), {0, 0, 7, 7, 7});
  check("clip_by_value", tf::clip_by_value(x, -1.0F, 1.0F), {0, 0, 0, 7, 7});
}

}  // namespace
}  // namespace towerflow
