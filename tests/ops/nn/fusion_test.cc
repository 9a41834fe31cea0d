// The rewrites of ops/nn: the same values in fewer launches.
#include <limits>

#include "autodiff/gradients.h"
#include "core/graph/scopes.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "ops/control/while_loop.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/cross_entropy.h"
#include "ops/nn/fused_batch_norm.h"
#include "ops/nn/pool.h"
#include "ops/nn/relu.h"
#include "ops/variables/apply.h"
#include "ops/variables/assign.h"
#include "ops/variables/variable.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

/// Runs with the rewrites of layers on or off.
RunResult run(Graph& graph, const std::vector<Fetch>& fetches, bool fused) {
  PassOptions passes;
  passes.fold_constants = false;
  passes.skipped_rewrites = {"elementwise"};
  if (!fused) passes.skipped_rewrites.insert("layers");
  return run_with(graph, fetches, passes);
}

bool contains(const RunResult& ran, const char* part) { return ran.has(part); }

TEST_CASE("fusion: convolution, bias and relu are one kernel") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tensor_of(random_array<float>({5, 9, 9, 3}, 1));
  const Tensor conv = nn::conv2d(x, random_array<float>({3, 3, 3, 20}, 2), 1, "SAME");
  const Tensor biased = nn::bias_add(conv, random_array<float>({20}, 3));
  const Tensor y = nn::relu(biased);
  const RunResult one = run(graph, {y}, true), three = run(graph, {y}, false);
  CHECK(contains(one, "_FusedConv2D [oneDNN]"));
  CHECK(one.launches == 1);
  CHECK(three.launches == 3);
  CHECK(relative_error<float, float>(one.values[0], three.values[0]) <= 1e-6);

  const RunResult kept = run(graph, {y, biased}, true);
  CHECK(kept.launches == 2);  // the value before the relu is fetched too
  CHECK(kept.values[0] == one.values[0]);
  CHECK(contains(run(graph, {y, conv}, true), "  Conv2D [oneDNN]"));
}

TEST_CASE("fusion: NaN survives the fused relu") {
  Graph graph;
  const auto guard = graph.as_default();
  Array x = random_array<float>({1, 4, 4, 16}, 1);
  x.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Tensor conv = nn::conv2d(x, random_array<float>({1, 1, 16, 16}, 2), 1, "SAME");
  const Tensor y = nn::relu(nn::bias_add(conv, random_array<float>({16}, 3)));
  const Tensor flat = reshape(tensor_of(x), {16, 16});
  const Tensor z =
      nn::relu(matmul(flat, random_array<float>({16, 8}, 2)) + random_array<float>({8}, 3));
  const RunResult ran = run(graph, {y, z}, true);
  CHECK(ran.launches == 2);
  for (const Array& value : ran.values) {
    CHECK(std::isnan(value.data<float>()[0]));
    CHECK_FALSE(std::isnan(value.data<float>()[value.elements() - 1]));
  }
}

TEST_CASE("fusion: a convolution stays before an assignment to its filter") {
  Graph graph;
  const auto guard = graph.as_default();
  const Array filter = random_array<float>({3, 3, 1, 2}, 2);
  const Variable w(filter);
  const Tensor conv = nn::conv2d(tensor_of(random_array<float>({1, 4, 4, 1}, 1)), w, 1, "SAME");
  const Tensor changed = assign(w, Array::zeros(DType::float32, filter.shape()));
  const Tensor y = nn::bias_add(conv, random_array<float>({2}, 3));
  Session session(graph);
  session.run(w.initializer());
  const Array before = session.run(y);
  const std::vector<Fetch> fetches{y, changed};
  CHECK(session.plan_report(fetches).find("_FusedConv2D") == std::string::npos);
  CHECK(relative_error<float, float>(session.run(fetches)[0], before) <= 1e-6);
  CHECK(relative_error<float, float>(session.run(y), before) > 0.1);
}

TEST_CASE("fusion: gradients of pooling, relu and bias are one kernel with the same bits") {
  for (const Shape& shape : {Shape{6, 8, 8, 32}, Shape{3, 7, 5, 3}}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor x = tensor_of(random_array<float>(shape, 1));
    const Tensor bias = tensor_of(random_array<float>({shape[3]}, 2));
    const Tensor y = nn::max_pool(nn::relu(nn::bias_add(x, bias)), 2, 2, "SAME");
    const Tensor loss = reduce_sum(y * tensor_of(random_array<float>(y.shape(), 3)));
    const auto gradient = gradients(loss, {x, bias});
    const std::vector<Fetch> fetches{gradient[0]->dense(), gradient[1]->dense()};
    const RunResult one = run(graph, fetches, true), three = run(graph, fetches, false);
    CHECK(contains(one, "_MaxPoolReluGrad [simd]"));
    CHECK_FALSE(contains(one, "  ReluGrad ["));
    CHECK_FALSE(contains(one, "  BiasAddGrad ["));
    CHECK(one.launches < three.launches);
    CHECK(one.values == three.values);
  }
}

TEST_CASE("fusion: product, bias and relu are one kernel with the same bits") {
  for (const bool large : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    const std::int64_t inner = large ? 300 : 7, columns = large ? 1000 : 5;
    const Tensor a = tensor_of(random_array<float>({64, inner}, 1));
    const Tensor product = matmul(a, random_array<float>({inner, columns}, 2));
    const Tensor y = nn::relu(product + random_array<float>({columns}, 3));
    const RunResult one = run(graph, {y}, true), three = run(graph, {y}, false);
    CHECK(contains(one, "_FusedMatMul [oneDNN]"));
    CHECK(one.launches == 1);
    CHECK(three.launches == 3);
    CHECK(one.values == three.values);
    // A column is not a bias.
    CHECK_FALSE(contains(run(graph, {product + random_array<float>({64, 1}, 3)}, true), "_Fused"));
  }
}

TEST_CASE("fusion: a matrix is added to a product in the same kernel") {
  for (const bool large : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    const std::int64_t inner = large ? 300 : 7, columns = large ? 1000 : 5;
    const Tensor product = matmul(tensor_of(random_array<float>({64, inner}, 1)),
                                  random_array<float>({inner, columns}, 2));
    const Tensor other = tensor_of(random_array<float>({64, columns}, 3));
    for (const Tensor& sum : {product + other, other + product, nn::relu(other + product)}) {
      const RunResult one = run(graph, {sum}, true), apart = run(graph, {sum}, false);
      CHECK(contains(one, "_FusedMatMul [oneDNN]"));
      CHECK(one.launches == 1);
      CHECK(apart.launches > 1);
      // The library may add parts of the product to the matrix, which rounds otherwise.
      CHECK(relative_error<float, float>(one.values[0], apart.values[0]) <= 1e-6);
    }
    // Of two products, one is computed with the sum.
    const RunResult both = run(graph,
                               {matmul(other, other, {.transpose_b = true}) +
                                matmul(product, product, {.transpose_b = true})},
                               true);
    CHECK(contains(both, "_FusedMatMul"));
    const RunResult kept = run(graph, {product + other, product}, true);
    CHECK_FALSE(contains(kept, "_FusedMatMul"));
  }
}

TEST_CASE("fusion: a product behind an Identity is added; the sum waits for what that waits for") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable steps(Array::scalar(0.0f));
  const Operation init = global_variables_initializer();
  const Tensor product =
      matmul(tensor_of(random_array<float>({64, 7}, 1)), random_array<float>({7, 5}, 2));
  Tensor gated;
  {
    const auto wait = control_dependencies({Fetch(assign_add(steps, 1.0f))});
    gated = identity(product);
  }
  const Tensor other = tensor_of(random_array<float>({64, 5}, 3));
  const Tensor sum = gated + other;
  ConfigProto config;
  config.passes.fold_constants = false;
  Session session(graph, config);
  session.run(init);
  const RunResult one = run_fetches(session, {sum});
  CHECK(contains(one, "_FusedMatMul"));
  CHECK(*session.run(steps).data<float>() == 1);
  const RunResult plain = run(graph, {product + other}, false);
  CHECK(one.values == plain.values);
  // If the Identity has another reader, it is computed.
  CHECK_FALSE(contains(run_fetches(session, {sum, gated}), "_FusedMatMul"));
}

TEST_CASE("fusion: the gradient of a matrix in a loop is summed by its products") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor w = tensor_of(random_array<float>({6, 6}, 1));
  const Tensor x = tensor_of(random_array<float>({4, 6}, 2));
  const auto [count, last] = while_loop(
      [](const Tensor& i, const Tensor&) { return i < 3; },
      [&](const Tensor& i, const Tensor& h) { return std::tuple(i + 1, nn::relu(matmul(h, w))); },
      std::tuple(tensor_of(Array::of<std::int32_t>(Shape{}, {0})), x));
  const std::vector<Fetch> fetches{gradients(reduce_sum(last), {w})[0]->dense()};
  const RunResult one = run(graph, fetches, true), apart = run(graph, fetches, false);
  CHECK(one.values == apart.values);
}

TEST_CASE("fusion: a bias is added to products of transposed matrices") {
  for (const bool turn_a : {false, true}) {
    for (const bool turn_b : {false, true}) {
      CAPTURE(turn_a);
      CAPTURE(turn_b);
      Graph graph;
      const auto guard = graph.as_default();
      const Tensor a = tensor_of(random_array<float>(turn_a ? Shape{6, 40} : Shape{40, 6}, 1));
      const Tensor product = matmul(a, random_array<float>(turn_b ? Shape{9, 6} : Shape{6, 9}, 2),
                                    {.transpose_a = turn_a, .transpose_b = turn_b});
      const Tensor y = nn::relu(product + random_array<float>({9}, 3));
      const RunResult one = run(graph, {y}, true), three = run(graph, {y}, false);
      CHECK(contains(one, "_FusedMatMul"));
      CHECK(relative_error<float, float>(one.values[0], three.values[0]) < 1e-6);
      // A large one, whose kernel may compute the transposed product.
      const Tensor wide =
          matmul(tensor_of(random_array<float>(turn_a ? Shape{300, 64} : Shape{64, 300}, 1)),
                 random_array<float>(turn_b ? Shape{1000, 300} : Shape{300, 1000}, 2),
                 {.transpose_a = turn_a, .transpose_b = turn_b});
      for (const Shape& shape : {Shape{1000}, Shape{64, 1000}}) {
        const Tensor z = nn::relu(wide + random_array<float>(shape, 3));
        const RunResult fused = run(graph, {z}, true), plain = run(graph, {z}, false);
        CHECK(contains(fused, "_FusedMatMul"));
        CHECK(relative_error<float, float>(fused.values[0], plain.values[0]) < 1e-6);
      }
    }
  }
}

TEST_CASE("fusion: the batch normalization of a training step does not read the moving averages") {
  for (const bool is_training : {true, false}) {
    CAPTURE(is_training);
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor x = tensor_of(random_array<float>({4, 3, 3, 5}, 1));
    const Tensor scale = tensor_of(random_array<float>({5}, 2));
    const Variable mean(random_array<float>({5}, 3)),
        variance(Array::of<float>({5}, {1, 2, 3, 4, 5}));
    const auto norm =
        nn::fused_batch_norm(x, scale, tensor_of(random_array<float>({5}, 4)),
                             {.mean = mean, .variance = variance, .is_training = is_training});
    const Operation init = group({mean.initializer(), variance.initializer()});
    PassOptions kept;
    kept.skipped_rewrites = {"layers"};
    const RunResult one = run_with(graph, {norm.y}, {}, &init);
    const RunResult all = run_with(graph, {norm.y}, kept, &init);
    CHECK(one.values == all.values);
    CHECK(one.has("variable:") == !is_training);
    CHECK(all.has("variable:"));
  }
}

TEST_CASE("fusion: double stays on the reference kernels, unfused") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor conv = nn::conv2d(random_array<double>({1, 4, 4, 1}, 1),
                                 random_array<double>({3, 3, 1, 2}, 2), 1, "SAME");
  const Tensor y = nn::relu(nn::bias_add(conv, random_array<double>({2}, 3)));
  CHECK(run(graph, {y}, true).launches == 3);
}

TEST_CASE("plan: nobody computes the data gradient of a first layer") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tensor_of(random_array<float>({2, 8, 8, 1}, 1));
  const Variable w1(random_array<float>({3, 3, 1, 4}, 2)), w2(random_array<float>({3, 3, 4, 4}, 3));
  const Tensor y = nn::conv2d(nn::relu(nn::conv2d(x, w1, 1, "SAME")), w2, 1, "SAME");
  const auto gradient = gradients(reduce_sum(y * y), {w1, w2});
  Session session(graph);
  const std::vector<Fetch> fetches{gradient[0]->dense(), gradient[1]->dense()};
  const std::string report = session.plan_report(fetches);
  const auto first = report.find("Conv2DBackpropInput [");
  REQUIRE(first != std::string::npos);  // that of the second layer
  CHECK(report.find("Conv2DBackpropInput [", first + 1) == std::string::npos);
}

}  // namespace
}  // namespace towerflow
