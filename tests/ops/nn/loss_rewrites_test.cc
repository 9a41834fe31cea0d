// Rewrites of the loss and the pooling of a net, on and off.
#include "autodiff/gradients.h"
#include "ops/array/cast.h"
#include "ops/array/placeholder.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/pool.h"
#include "ops/nn/relu.h"
#include "ops/nn/softmax.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

constexpr const char* kPlain = "SparseSoftmaxCrossEntropyWithLogits";
constexpr const char* kScaled = "_ScaledSparseSoftmaxCrossEntropy";

/// Runs with all passes, or with all but the rewrites of layers and elementwise ops.
RunResult run(Graph& graph, const std::vector<Fetch>& fetches, bool fused,
              const Feeds& feeds = {}) {
  PassOptions passes;
  if (!fused) passes.skipped_rewrites = {"layers", "elementwise"};
  return run_with(graph, fetches, passes, nullptr, feeds);
}

struct Classifier {
  Tensor logits, labels;
  Feeds feeds;
};

/// Returns placeholders and feeds, so that nothing is known when the plan is made.
Classifier classifier(DType label_dtype, std::int64_t rows) {
  Classifier made{placeholder(DType::float32, {.shape = Shape{rows, 7}}),
                  placeholder(label_dtype, {.shape = Shape{rows}}),
                  {}};
  Array labels(DType::int32, {rows});
  for (std::int64_t i = 0; i < rows; ++i) {
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 7);
  }
  made.feeds = {{made.logits, random_array<float>({rows, 7}, 1)}};
  if (label_dtype == DType::int32) made.feeds.push_back({made.labels, labels});
  if (label_dtype == DType::int64) {
    made.feeds.push_back({made.labels, converted<std::int64_t, std::int32_t>(labels)});
  }
  return made;
}

TEST_CASE("rewrites: loss and gradient of a cross entropy are one pass") {
  for (const std::int64_t rows : {1, 64, 9000, 0}) {
    for (const DType dtype : {DType::int32, DType::int64}) {
      CAPTURE(rows);
      Graph graph;
      const auto guard = graph.as_default();
      const Classifier net = classifier(dtype, rows);
      const Tensor loss = reduce_mean(nn::sparse_softmax_cross_entropy_with_logits(
          {.labels = cast(net.labels, DType::int64), .logits = net.logits}));
      const auto gradient = gradients(loss, {net.logits});
      const std::vector<Fetch> fetches{loss, tanh(gradient[0]->dense())};
      const RunResult on = run(graph, fetches, true, net.feeds);
      const RunResult off = run(graph, fetches, false, net.feeds);
      CHECK(on.count(kScaled) == 1);
      CHECK(on.launches == 3);  // the fused loss, the mean and tanh
      CHECK(on.count("Cast") == 0);
      CHECK(off.count(kPlain) == 1);
      CHECK(off.count("Mul") == 1);
      CHECK(off.launches == (dtype == DType::int32 ? 5 : 4));
      CHECK(same_bits(on, off));
    }
  }
}

TEST_CASE("rewrites: a cross entropy stays when others read its parts") {
  Graph graph;
  const auto guard = graph.as_default();
  const Classifier net = classifier(DType::int32, 5);
  const Tensor labels = cast(net.labels, DType::int64);
  const Tensor losses =
      nn::sparse_softmax_cross_entropy_with_logits({.labels = labels, .logits = net.logits});
  const auto gradient = gradients(reduce_mean(losses), {net.logits});
  const Tensor inside = losses.op().output(1);
  const RunResult read = run(graph, {gradient[0]->dense(), inside, labels}, true, net.feeds);
  CHECK(read.count(kScaled) == 0);
  CHECK(read.count("Cast") == 1);
  CHECK(same_bits(read, run(graph, {gradient[0]->dense(), inside, labels}, false, net.feeds)));
  // The gradient of the losses is known only at run time.
  const auto squared = gradients(reduce_sum(square(losses)), {net.logits});
  const RunResult late = run(graph, {squared[0]->dense()}, true, net.feeds);
  CHECK(late.count(kScaled) == 0);
  CHECK(same_bits(late, run(graph, {squared[0]->dense()}, false, net.feeds)));
}

TEST_CASE("rewrites: a label outside the classes is still told") {
  Graph graph;
  const auto guard = graph.as_default();
  Classifier net = classifier(DType::int32, 2);
  const Tensor loss = reduce_mean(nn::sparse_softmax_cross_entropy_with_logits(
      {.labels = cast(net.labels, DType::int64), .logits = net.logits}));
  const auto gradient = gradients(loss, {net.logits});
  Session session(graph);
  const Feeds feeds{net.feeds[0], {net.labels, Array::of<std::int32_t>({2}, {1, 7})}};
  check_error<errors::InvalidArgumentError>(
      [&] {
        session.run(std::vector<Fetch>{loss, gradient[0]->dense()}, feeds);
      },
      "label value of 7");
}

TEST_CASE("rewrites: a cross entropy written by hand is left as it is") {
  Graph graph;
  const auto guard = graph.as_default();
  const Classifier net = classifier(DType::int32, 5);
  const Tensor wanted = tensor_of(random_array<float>({5, 7}, 3));
  const Tensor loss = -reduce_sum(wanted * log(nn::softmax(net.logits)), -1);
  const RunResult on = run(graph, {loss}, true, net.feeds),
                  off = run(graph, {loss}, false, net.feeds);
  CHECK(on.count("Softmax") == 1);
  CHECK_FALSE(on.has("CrossEntropy"));
  CHECK(on.count("_Elementwise") == 1);  // only the log and the product
  CHECK(same_bits(on, off));
}

TEST_CASE("rewrites: pooling before and after a relu, and their gradients") {
  for (const bool relu_first : {true, false}) {
    for (const Shape& shape : {Shape{2, 8, 8, 16}, Shape{3, 7, 5, 3}}) {
      CAPTURE(relu_first);
      Graph graph;
      const auto guard = graph.as_default();
      const Tensor x = placeholder(DType::float32, {.shape = shape});
      const Feeds feeds{{x, random_array<float>(shape, 1)}};
      const Tensor y = relu_first ? nn::max_pool(nn::relu(x), 2, 2, "SAME")
                                  : nn::relu(nn::max_pool(x, 2, 2, "SAME"));
      const auto gradient = gradients(reduce_sum(square(y)), {x});
      const std::vector<Fetch> fetches{y, gradient[0]->dense()};
      const RunResult on = run(graph, fetches, true, feeds),
                      off = run(graph, fetches, false, feeds);
      CHECK(on.count("_MaxPoolReluGrad") == (relu_first ? 1 : 0));
      CHECK(off.count("MaxPoolGrad") == 1);
      CHECK(on.launches < off.launches);
      CHECK(same_bits(on, off));
    }
  }
}

TEST_CASE("passes: nobody computes the data gradient of a first layer, unless it is awaited") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(DType::float32, {.shape = Shape{2, 8, 8, 1}});
  const Tensor w = tensor_of(random_array<float>({3, 3, 1, 4}, 2));
  const Feeds feeds{{x, random_array<float>({2, 8, 8, 1}, 1)}};
  const Tensor loss = reduce_sum(square(nn::conv2d(x, w, 1, "SAME")));
  const auto gradient = gradients(loss, {w}, {.gate_gradients = true});
  const std::vector<Fetch> fetches{gradient[0]->dense()};
  PassOptions without;
  without.drop_unread = false;
  const RunResult on = run_with(graph, fetches, {}, nullptr, feeds);
  const RunResult off = run_with(graph, fetches, without, nullptr, feeds);
  CHECK(on.count("Conv2DBackpropInput") == 0);
  CHECK(off.count("Conv2DBackpropInput") == 1);  // the gate waits for it
  CHECK(on.count("Conv2DBackpropFilter") == 1);
  CHECK(on.values == off.values);
  // Without the gate, the fetch does not need it.
  const auto free = gradients(loss, {w});
  CHECK(run_with(graph, {free[0]->dense()}, without, nullptr, feeds).count("Conv2DBackpropInput") ==
        0);
  // It is computed if fetched.
  const auto both = gradients(loss, {x, w});
  CHECK(run_with(graph, {both[0]->dense(), both[1]->dense()}, {}, nullptr, feeds)
            .count("Conv2DBackpropInput") == 1);
}

}  // namespace
}  // namespace towerflow
