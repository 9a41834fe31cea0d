#include "ops/nn/cross_entropy.h"

#include <limits>

#include "ops/nn/in_top_k.h"
#include "ops/reference/softmax.h"
#include "tests/ops/nn/support.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

template <class T, class Label>
void check_values(std::int64_t rows, std::int64_t classes, double tolerance) {
  Array labels(dtype_of<Label>(), Shape{rows});
  std::vector<std::int64_t> wide;
  for (std::int64_t i = 0; i < rows; ++i) {
    wide.push_back(i * 7 % classes);
    labels.data<Label>()[i] = static_cast<Label>(wide.back());
  }
  Array logits = random_array<T>({rows, classes}, 3);
  for (std::int64_t i = 0; i < logits.elements(); ++i) logits.data<T>()[i] *= T(20);
  Array loss(DType::float64, {rows}), gradient(DType::float64, {rows, classes});
  reference::sparse_softmax_xent(rows, classes, logits.data<T>(), wide.data(), loss.data<double>(),
                                 gradient.data<double>());
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor y = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = tensor_of(labels), .logits = tensor_of(logits)});
  Session session(graph, no_folding_config());
  const auto [values, gradients] = session.run({y, y.op().output(1)});
  CHECK(relative_error<T, double>(values, loss) <= tolerance);
  CHECK(relative_error<T, double>(gradients, gradient) <= tolerance);
}

TEST_CASE("sparse cross entropy: values against naive loops") {
  check_values<float, std::int32_t>(64, 10, 1e-6);
  check_values<float, std::int64_t>(3, 1000, 1e-6);
  check_values<float, std::int64_t>(70, 1001, 1e-6);
  check_values<double, std::int64_t>(5, 7, 0.0);
  check_values<double, std::int32_t>(5, 1, 0.0);
}

TEST_CASE("sparse cross entropy: TensorFlow's nodes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor labels = tensor_of(Array::zeros(DType::int64, {4}), "l");
  const Tensor logits = tensor_of(Array::zeros(DType::float32, {4, 5}), "lo");
  const std::size_t before = graph.size();
  const Tensor y = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = labels, .logits = logits, .name = "xe"});
  CHECK(y.name() == "xe/xe:0");
  CHECK(y.op().num_outputs() == 2);
  REQUIRE(graph.size() == before + 2);
  CHECK(graph.operation(before).name() == "xe/Shape");
  CHECK(graph.operation(before).type() == "Const");
  const Tensor z = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = {1, 2}, .logits = {{1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}}});
  CHECK(z.name() == "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits:0");
  CHECK(z.op().input(0).name() == "SparseSoftmaxCrossEntropyWithLogits/Const_1:0");
  CHECK(z.op().input(1).name() == "SparseSoftmaxCrossEntropyWithLogits/Const:0");
}

TEST_CASE("sparse cross entropy: logits that are not a matrix make TensorFlow's nodes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array logits = random_array<float>({2, 4, 5}, 1);
  const Tensor labels = tensor_of(Array::zeros(DType::int64, {2, 4}), "l");
  const std::size_t before = graph.size() + 1;
  const Tensor y = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = labels, .logits = tensor_of(logits, "lo"), .name = "xe"});
  CHECK(y.name() == "xe/Reshape_2:0");
  CHECK(y.shape() == Shape{2, 4});
  const char* const names[] = {"Shape",
                               "Shape_1",
                               "Rank",
                               "sub/y",
                               "sub",
                               "add/y",
                               "add",
                               "strided_slice/stack",
                               "strided_slice/stack_1",
                               "strided_slice/stack_2",
                               "strided_slice",
                               "Reshape/shape/0",
                               "Reshape/shape",
                               "Reshape",
                               "Reshape_1/shape",
                               "Reshape_1",
                               "xe",
                               "Reshape_2"};
  REQUIRE(graph.size() == before + std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i)
    CHECK(graph.operation(before + i).name() == std::string("xe/") + names[i]);
  Session session(graph);
  const Tensor flat = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = Array::zeros(DType::int64, {8}), .logits = logits.reshaped({8, 5})});
  CHECK(session.run(y) == session.run(flat).reshaped({2, 4}));
  const Tensor one =
      nn::sparse_softmax_cross_entropy_with_logits({.labels = 3, .logits = {1.0, 2.0, 3.0, 4.0}});
  CHECK(one.shape() == Shape{});
  CHECK(session.run(one).item<float>() == doctest::Approx(0.4401897));
}

TEST_CASE("sparse cross entropy: shapes that the run knows make TensorFlow's nodes") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor labels = placeholder(DType::int32, {.shape = {None, None}, .name = "l"});
  const Tensor logits = placeholder(DType::float32, {.shape = {None, None, 7}, .name = "lo"});
  const std::size_t before = graph.size();
  const Tensor y = nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = labels, .logits = logits, .name = "loss"});
  CHECK(y.shape() == Shape{None, None});
  const char* const names[] = {"Shape",
                               "Shape_1",
                               "Shape_2",
                               "strided_slice/stack",
                               "strided_slice/stack_1",
                               "strided_slice/stack_2",
                               "strided_slice",
                               "assert_equal_1/Equal",
                               "assert_equal_1/Const",
                               "assert_equal_1/All",
                               "assert_equal_1/Assert/Const",
                               "assert_equal_1/Assert/Const_1",
                               "assert_equal_1/Assert/Const_2",
                               "assert_equal_1/Assert/Assert/data_0",
                               "assert_equal_1/Assert/Assert/data_1",
                               "assert_equal_1/Assert/Assert/data_3",
                               "assert_equal_1/Assert/Assert",
                               "Shape_3",
                               "Rank",
                               "sub/y",
                               "sub",
                               "add/y",
                               "add",
                               "strided_slice_1/stack",
                               "strided_slice_1/stack_1",
                               "strided_slice_1/stack_2",
                               "strided_slice_1",
                               "Reshape/shape/0",
                               "Reshape/shape",
                               "Reshape",
                               "Reshape_1/shape",
                               "Reshape_1",
                               "loss",
                               "Reshape_2"};
  REQUIRE(graph.size() == before + std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i)
    CHECK(graph.operation(before + i).name() == std::string("loss/") + names[i]);
  // Only these have control inputs. The other nodes follow them through their data inputs.
  std::vector<std::string> waiting;
  for (std::size_t i = before; i < graph.size(); ++i) {
    const Operation op = graph.operation(i);
    if (!op.node().control_inputs.empty()) waiting.push_back(op.name());
  }
  CHECK(waiting == std::vector<std::string>{"loss/Shape_3", "loss/Rank", "loss/sub/y", "loss/add/y",
                                            "loss/strided_slice_1/stack_2", "loss/Reshape/shape/0",
                                            "loss/Reshape_1/shape"});
}

TEST_CASE("sparse cross entropy: shapes that the run knows") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array given = random_array<float>({2, 3, 7}, 1);
  const Array classes = Array::of(Shape{2, 3}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  const auto loss = [](const Tensor& labels, const Tensor& logits) {
    return nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits});
  };
  const Tensor known = tensor_of(given, "known");
  const Tensor wanted = loss(tensor_of(classes, "classes"), known);
  const Tensor slope = gradients(wanted, {known})[0]->dense();
  Session session(graph);
  const Shape open = Shape::unknown();
  const std::vector<std::pair<Shape, Shape>> cases = {{{None, None}, {None, None, 7}},
                                                      {{None, None}, {None, None, None}},
                                                      {open, {None, None, 7}},
                                                      {{None, None}, open},
                                                      {open, open},
                                                      {{2, None}, {None, 3, 7}},
                                                      {{2, 3}, {None, None, 7}},
                                                      {open, {2, 3, 7}}};
  for (const auto& shapes : cases) {  // clang 14 cannot capture structured bindings
    const Shape &of_labels = shapes.first, &of_logits = shapes.second;
    CAPTURE(of_labels.text());
    CAPTURE(of_logits.text());
    const Tensor labels = placeholder(DType::int32, {.shape = of_labels});
    const Tensor logits = placeholder(DType::float32, {.shape = of_logits});
    const Tensor y = loss(labels, logits);
    CHECK(y.shape() == of_labels);
    const Tensor dy = gradients(y, {logits})[0]->dense();
    CHECK(session.run(y, {{labels, classes}, {logits, given}}) == session.run(wanted));
    CHECK(session.run(dy, {{labels, classes}, {logits, given}}) == session.run(slope));
    if (!of_labels.compatible({3, 2})) continue;
    check_error<errors::InvalidArgumentError>(
        [&] {
          session.run(y, {{labels, classes.reshaped({3, 2})}, {logits, given}});
        },
        "");
  }
  const Tensor labels = placeholder(DType::int32, {.shape = {None, None}});
  const Tensor logits = placeholder(DType::float32, {.shape = {None, None, 7}});
  const Tensor y = loss(labels, logits);
  check_error<errors::InvalidArgumentError>(
      [&] {
        session.run(y, {{labels, classes.reshaped({3, 2})}, {logits, given}});
      },
      "Condition x == y did not hold element-wise:");
  const Feeds none = {{labels, Array::zeros(DType::int32, {0, 3})},
                      {logits, Array::zeros(DType::float32, {0, 3, 7})}};
  CHECK(session.run(y, none).shape() == Shape{0, 3});
}

TEST_CASE("sparse cross entropy: errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto call = [](const Array& labels, const Array& logits) {
    return
        [=] { nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = logits}); };
  };
  const Array logits = Array::zeros(DType::float32, {4, 5});
  check_error<ValueError>(call(Array::zeros(DType::int64, {3}), logits),
                          "must equal `logits.shape` except for the last dimension");
  check_error<ValueError>(call(Array::zeros(DType::int64, {4, 1}), logits),
                          "must equal `logits.shape.rank - 1`");
  check_error<ValueError>(call(Array::zeros(DType::int64, {}), Array::zeros(DType::float32, {})),
                          "cannot be a scalar");
  check_error<TypeError>(call(Array::zeros(DType::float32, {4}), logits),
                         "'labels' has DataType float32");
  check_error<ValueError>(
      call(Array::zeros(DType::int64, {4}), Array::zeros(DType::float32, {4, 0})),
      "at least one class");
  check_error<ValueError>([&] { nn::sparse_softmax_cross_entropy_with_logits({.logits = logits}); },
                          "labels missing");
  Session session(graph, no_folding_config());
  for (const int label : {5, -1}) {
    const Tensor y = nn::sparse_softmax_cross_entropy_with_logits(
        {.labels = {0, 0, label, 0}, .logits = logits});
    check_error<errors::InvalidArgumentError>([&] { session.run(y); },
                                              "outside the valid range of [0, 5)");
  }
}

TEST_CASE("in_top_k: ranks, ties and numbers that are not finite") {
  Graph graph;
  const auto guard = graph.as_default();
  Session session(graph, no_folding_config());
  const float inf = std::numeric_limits<float>::infinity();
  const Array predictions =
      Array::of<float>({5, 3}, std::vector<float>{1, 2, 3, 3, 3, 1, 1, 2, 3, 1, inf, 0, 1, 2, 3});
  const Array targets = Array::of<std::int64_t>({5}, std::vector<std::int64_t>{2, 1, 1, 0, 7});
  const auto top = [&](int k) {
    const Array in = session.run(nn::in_top_k(predictions, targets, k));
    return std::vector<bool>(in.data<bool>(), in.data<bool>() + 5);
  };
  CHECK(top(1) == std::vector<bool>{true, true, false, false, false});
  CHECK(top(2) == std::vector<bool>{true, true, true, false, false});
  CHECK(top(0) == std::vector<bool>{false, false, false, false, false});
}

TEST_CASE("in_top_k: names and errors") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array predictions = Array::zeros(DType::float32, {4, 5});
  const Tensor y = nn::in_top_k(predictions, Array::zeros(DType::int64, {4}), 1);
  CHECK(y.name() == "in_top_k/InTopKV2:0");
  CHECK(y.op().input(2).name() == "in_top_k/InTopKV2/k:0");
  CHECK(y.op().input(2).dtype() == DType::int64);
  check_error<ValueError>([&] { nn::in_top_k(predictions, Array::zeros(DType::int64, {3}), 1); },
                          "Dimensions must be equal, but are 4 and 3");
  check_error<ValueError>(
      [&] { nn::in_top_k(Array::zeros(DType::float32, {4}), Array::zeros(DType::int64, {4}), 1); },
      "must be rank 2 but is rank 1");
  check_error<TypeError>(
      [&] {
        nn::in_top_k(tensor_of(Array::zeros(DType::float64, {4, 5})),
                     Array::zeros(DType::int64, {4}), 1);
      },
      "does not match expected type of float32");
}

}  // namespace
}  // namespace towerflow
