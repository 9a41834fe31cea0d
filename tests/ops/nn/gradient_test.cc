// First and second gradients of ops/nn against central differences in float64.
#include <algorithm>

#include "autodiff/gradients.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/pool.h"
#include "ops/nn/relu.h"
#include "ops/nn/softmax.h"
#include "tests/ops/nn/support.h"
#include "tests/support/grad_check.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

/// Returns 0.1, -0.2, 0.3, ... shuffled: all distinct and none near 0, so no kink is crossed.
Array spaced_values(const Shape& shape, unsigned seed) {
  Array array(DType::float64, shape);
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.elements(); ++i)
    values.push_back(0.1 * static_cast<double>(i + 1) * (i % 2 == 0 ? 1 : -1));
  std::shuffle(values.begin(), values.end(), std::mt19937_64(seed));
  std::copy(values.begin(), values.end(), array.data<double>());
  return array;
}

/// Checks first and second derivatives.
void check_twice(const Function& function, const std::vector<Array>& xs) {
  CHECK(grad_check(function, xs) == "");
  CHECK(second_grad_check(function, xs) == "");
}

Function conv(int stride, const char* padding) {
  return [=](const std::vector<Tensor>& in) { return nn::conv2d(in[0], in[1], stride, padding); };
}

TEST_CASE("gradient: conv2d with respect to input and filter") {
  const Array x = random_array<double>({2, 5, 4, 2}, 1);
  CHECK(grad_check(conv(1, "SAME"), {x, random_array<double>({3, 3, 2, 3}, 2)}) == "");
  CHECK(grad_check(conv(2, "SAME"), {x, random_array<double>({3, 2, 2, 1}, 2)}) == "");
  CHECK(grad_check(conv(1, "VALID"), {x, random_array<double>({2, 3, 2, 2}, 2)}) == "");
  CHECK(grad_check(conv(3, "VALID"), {x, random_array<double>({2, 2, 2, 2}, 2)}) == "");
}

TEST_CASE("gradient: conv2d twice") {
  const Array x = random_array<double>({1, 4, 3, 2}, 1), w = random_array<double>({2, 3, 2, 2}, 2);
  const Function squared = [](const std::vector<Tensor>& in) {
    const Tensor y = nn::conv2d(in[0], in[1], {1, 2, 1, 1}, "SAME");
    return y * y;
  };
  CHECK(second_grad_check(squared, {x, w}) == "");
}

TEST_CASE("gradient: bias_add, once and twice") {
  for (const char* format : {"NHWC", "NCHW"}) {
    const Function squared = [=](const std::vector<Tensor>& in) {
      const Tensor y = nn::bias_add(in[0], in[1], {.data_format = format});
      return y * y;
    };
    const Array x = random_array<double>({2, 3, 2, 3}, 1), b = random_array<double>({3}, 2);
    check_twice(squared, {x, b});
  }
}

TEST_CASE("gradient: relu, once and twice") {
  const Function squared = [](const std::vector<Tensor>& in) {
    const Tensor y = nn::relu(in[0]);
    return y * y;
  };
  const Array x = spaced_values({3, 7}, 1);
  check_twice(squared, {x});
}

TEST_CASE("gradient: max_pool, once, twice and three times") {
  for (const char* padding : {"SAME", "VALID"}) {
    const Function cubed = [=](const std::vector<Tensor>& in) {
      const Tensor y = nn::max_pool(in[0], 3, 2, padding);
      return y * y * y;
    };
    const Array x = spaced_values({2, 5, 4, 2}, 1);
    const Function derivative = [=](const std::vector<Tensor>& in) {
      return gradients(cubed(in), {in[0]})[0]->dense();
    };
    CHECK(grad_check(cubed, {x}) == "");
    check_twice(derivative, {x});
  }
}

TEST_CASE("gradient: avg_pool, once and twice") {
  for (const char* padding : {"SAME", "VALID"}) {
    const Function squared = [=](const std::vector<Tensor>& in) {
      const Tensor y = nn::avg_pool(in[0], 3, 2, padding);
      return y * y;
    };
    const Array x = random_array<double>({2, 5, 4, 2}, 1);
    check_twice(squared, {x});
  }
}

TEST_CASE("gradient: softmax and log_softmax, once and twice") {
  const Array x = random_array<double>({2, 3, 4}, 1);
  for (const bool log : {false, true}) {
    const Function function = [=](const std::vector<Tensor>& in) {
      return log ? nn::log_softmax(in[0]) : nn::softmax(in[0]);
    };
    check_twice(function, {x});
  }
}

TEST_CASE("gradient: sparse cross entropy, once and twice") {
  const Function function = [](const std::vector<Tensor>& in) {
    return nn::sparse_softmax_cross_entropy_with_logits({.labels = {2, 0, 1}, .logits = in[0]});
  };
  const Array x = random_array<double>({3, 4}, 1);
  check_twice(function, {x});
}

TEST_CASE("gradient: shapes that only a run knows") {
  const Array x = random_array<double>({2, 4, 4, 2}, 1), w = random_array<double>({3, 3, 2, 2}, 2);
  const GradCheckOptions unknown{.unknown_shapes = true};
  CHECK(grad_check(conv(2, "SAME"), {x, w}, unknown) == "");
  const Function pooled = [](const std::vector<Tensor>& in) {
    return nn::max_pool(nn::relu(nn::bias_add(in[0], in[1])), 2, 2, "VALID");
  };
  CHECK(grad_check(pooled, {spaced_values({2, 4, 5, 3}, 1), spaced_values({3}, 2)}, unknown) == "");
  const Function averaged = [](const std::vector<Tensor>& in) {
    return nn::softmax(nn::avg_pool(in[0], 2, 1, "SAME"));
  };
  CHECK(grad_check(averaged, {x}, unknown) == "");
  const Function loss = [](const std::vector<Tensor>& in) {
    const Tensor rows = reshape(in[0], {3, -1});
    return nn::sparse_softmax_cross_entropy_with_logits({.labels = {2, 0, 1}, .logits = rows});
  };
  CHECK(grad_check(loss, {random_array<double>({3, 4}, 1)}, unknown) == "");
}

TEST_CASE("gradient: labels, sizes and shapes get none") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor logits = tensor_of(random_array<double>({2, 3}, 1));
  const Tensor labels = tensor_of(Array::zeros(DType::int32, {2}));
  const Tensor loss =
      nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits});
  CHECK_FALSE(gradients(loss, {labels})[0].has_value());
}

// Returns the gradients of a small net: in float32 on fast kernels, in float64 on reference ones.
template <class T>
std::vector<Array> net_gradients() {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tensor_of(converted<T, double>(random_array<double>({4, 8, 8, 1}, 1)));
  const Tensor w1 = tensor_of(converted<T, double>(random_array<double>({5, 5, 1, 16}, 2)));
  const Tensor b1 = tensor_of(converted<T, double>(random_array<double>({16}, 3)));
  const Tensor w2 = tensor_of(converted<T, double>(random_array<double>({256, 10}, 4)));
  const Tensor b2 = tensor_of(converted<T, double>(random_array<double>({10}, 5)));
  const Tensor conv1 = nn::relu(nn::bias_add(nn::conv2d(x, w1, 1, "SAME"), b1));
  const Tensor flat = reshape(nn::max_pool(conv1, 2, 2, "SAME"), {4, 256});
  const Tensor logits = matmul(flat, w2) + b2;
  const Tensor loss = reduce_mean(
      nn::sparse_softmax_cross_entropy_with_logits({.labels = {1, 5, 0, 9}, .logits = logits}));
  std::vector<Fetch> fetches{loss};
  for (const auto& gradient : gradients(loss, {x, w1, b1, w2, b2}))
    fetches.push_back(gradient->dense());
  Session session(graph, no_folding_config());
  return session.run(fetches);
}

TEST_CASE("gradient: fast kernels give what the reference kernels give") {
  const auto fast = net_gradients<float>();
  const auto reference = net_gradients<double>();
  for (std::size_t i = 0; i < fast.size(); ++i) {
    CAPTURE(i);
    CHECK(relative_error<float, double>(fast[i], reference[i]) <= 2e-6);
  }
}

}  // namespace
}  // namespace towerflow
