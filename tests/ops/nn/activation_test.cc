#include <limits>

#include "ops/nn/bias_add.h"
#include "ops/nn/relu.h"
#include "tests/ops/nn/support.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

TEST_CASE("relu: values, edges and dtypes") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session(graph, no_folding_config());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Array x = Array::of<float>({6}, std::vector<float>{-1, 0, 2.5, nan, inf, -inf});
  const Array y = session.run(nn::relu(x));
  CHECK(y.data<float>()[0] == 0.0f);
  CHECK(y.data<float>()[1] == 0.0f);
  CHECK(y.data<float>()[2] == 2.5f);
  CHECK(std::isnan(y.data<float>()[3]));
  CHECK(y.data<float>()[4] == inf);
  CHECK(y.data<float>()[5] == 0.0f);
  const Array ints = session.run(nn::relu({-3, 4}));
  CHECK(ints == Array::of<std::int32_t>({2}, std::vector<std::int32_t>{0, 4}));
  CHECK(session.run(nn::relu(Array::zeros(DType::float32, {0, 3}))).shape() == Shape{0, 3});
  check_error<TypeError>([] { nn::relu(Array::zeros(DType::bool_, {1})); },
                         "DataType bool not in list of allowed values");
}

TEST_CASE("relu: fast and reference kernels agree on many elements") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session(graph, no_folding_config());
  const Array x = random_array<float>({3, 70001}, 5);
  const Array wide = session.run(nn::relu(converted<double, float>(x)));
  CHECK(relative_error<float, double>(session.run(nn::relu(x)), wide) == 0.0);
}

TEST_CASE("relu: node names") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK(nn::relu({1.0}).op().input(0).name() == "Relu/features:0");
  CHECK(nn::relu({1.0}, {.name = "conv1"}).name() == "conv1:0");
}

template <class T>
void check_bias(const Shape& shape, std::size_t axis, const std::string& format) {
  Graph graph;
  const auto guard = graph.as_default();
  const Array x = random_array<T>(shape, 1), bias = random_array<T>({shape[axis]}, 2);
  Session session(graph, no_folding_config());
  const Array y = session.run(nn::bias_add(x, bias, {.data_format = format}));
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) inner *= shape.size(i);
  bool equal = true;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const T expected =
        x.template data<T>()[i] + bias.template data<T>()[i / inner % shape.size(axis)];
    equal = equal && y.template data<T>()[i] == expected;
  }
  CHECK(equal);
  CHECK(y.shape() == shape);
}

TEST_CASE("bias_add: values in both formats") {
  check_bias<float>({4, 5, 6, 7}, 3, "NHWC");
  check_bias<float>({4, 5, 6, 7}, 1, "NCHW");
  check_bias<double>({4, 5, 6, 7}, 3, "");
  check_bias<float>({300, 1024}, 1, "N...C");
  check_bias<float>({4, 5, 6}, 1, "NC...");
  check_bias<float>({0, 5}, 1, "");
}

TEST_CASE("bias_add: names and errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array x = random_array<float>({2, 8, 8, 3}, 1);
  const Tensor y = nn::bias_add(x, {1.0, 2.0, 3.0});
  CHECK(y.name() == "BiasAdd:0");
  CHECK(y.op().input(0).name() == "BiasAdd/input:0");
  CHECK(y.op().input(1).name() == "BiasAdd/bias:0");
  check_error<ValueError>([&] { nn::bias_add(x, random_array<float>({4}, 2)); },
                          "Dimensions must be equal, but are 3 and 4");
  check_error<ValueError>(
      [] { nn::bias_add(random_array<float>({4}, 1), random_array<float>({4}, 2)); },
      "at least rank 2 but is rank 1");
  check_error<ValueError>(
      [&] {
        nn::bias_add(x, random_array<float>({3, 3}, 2));
      },
      "must be rank 1 but is rank 2");
  check_error<ValueError>(
      [&] { nn::bias_add(x, random_array<float>({3}, 2), {.data_format = "Q"}); },
      "`data_format` must be of the form");
}

}  // namespace
}  // namespace towerflow
