// What golden programs do not cover: the library's own errors, hints, and long rows.
#include "ops/nn/losses.h"

#include "ops/array/placeholder.h"
#include "ops/nn/loss_collections.h"
#include "ops/nn/soft_cross_entropy.h"
#include "ops/reference/softmax.h"
#include "tests/ops/nn/support.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

/// Checks that with one-hot labels the cross entropy equals the sparse one.
template <class T>
void check_one_hot(std::int64_t rows, std::int64_t classes, double tolerance) {
  Array labels = Array::zeros(dtype_of<T>(), {rows, classes});
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < rows; ++i) {
    numbers.push_back(i * 7 % classes);
    labels.data<T>()[i * classes + numbers.back()] = T(1);
  }
  Array logits = random_array<T>({rows, classes}, 3);
  for (std::int64_t i = 0; i < logits.elements(); ++i) logits.data<T>()[i] *= T(20);
  Array loss(DType::float64, {rows}), gradient(DType::float64, {rows, classes});
  reference::sparse_softmax_xent(rows, classes, logits.data<T>(), numbers.data(),
                                 loss.data<double>(), gradient.data<double>());
  Graph graph;
  const auto guard = graph.as_default();
  const Operation* made = nullptr;
  nn::softmax_cross_entropy_with_logits_v2(
      {.labels = tensor_of(labels), .logits = tensor_of(logits)});
  const auto operations = graph.get_operations();
  for (const Operation& op : operations) {
    if (op.type() == "SoftmaxCrossEntropyWithLogits") made = &op;
  }
  REQUIRE(made != nullptr);
  Session session(graph);
  const auto [values, gradients] = session.run({made->output(0), made->output(1)});
  CHECK(relative_error<T, double>(values, loss) <= tolerance);
  CHECK(relative_error<T, double>(gradients, gradient) <= tolerance);
}

TEST_CASE("cross entropy of probabilities: values against naive loops") {
  check_one_hot<float>(64, 10, 1e-6);
  check_one_hot<float>(70, 1001, 1e-6);
  check_one_hot<double>(5, 7, 1e-14);
  check_one_hot<double>(5, 1, 1e-14);
}

TEST_CASE("losses: weights that do not fit") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(DType::float32, {.shape = Shape{None, 3}});
  check_error<ValueError>(
      [&] {
        losses::mean_squared_error(x, x, {.weights = {1.0, 2.0}});
      },
      "values.rank=2. weights.rank=1");
  check_error<ValueError>(
      [&] {
        losses::mean_squared_error(Array::zeros(DType::float32, {2, 3}),
                                   Array::zeros(DType::float32, {2, 3}),
                                   {.weights = {{1.0}, {2.0}, {3.0}}});
      },
      "Mismatch at dim 0");
}

TEST_CASE("losses: a total of none says what the filter missed") {
  Graph graph;
  const auto guard = graph.as_default();
  losses::add_loss(tensor_of(Array::zeros(DType::float32, {}), "tower_0/loss"));
  check_error<ValueError>([] { losses::get_total_loss({.scope = "tower_1"}); }, "at least one");
  CHECK(losses::get_total_loss({.scope = "tower_0"}).name() == "total_loss:0");
  CHECK(losses::get_losses("tower_1").empty());
  CHECK(losses::get_losses().size() == 1);
}

}  // namespace
}  // namespace towerflow
