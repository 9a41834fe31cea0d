// Passes without rules, on and off: the same values, fewer instructions, and near misses.
#include "core/graph/scopes.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

struct OnOff {
  RunResult on, off;
};

/// Runs with only `pass` and with no pass, on `devices` CPUs.
OnOff run_with_and_without(Graph& graph, const std::vector<Fetch>& fetches, bool PassOptions::*pass,
                           const Feeds& feeds = {}, int devices = 1) {
  const Operation init = global_variables_initializer();
  PassOptions one = only_rewrites();
  one.*pass = true;
  OnOff ran{run_with(graph, fetches, one, &init, feeds, devices),
            run_with(graph, fetches, only_rewrites(), &init, feeds, devices)};
  CHECK(same_bits(ran.on, ran.off));
  return ran;
}

TEST_CASE("passes: what depends on constants alone is computed once") {
  const auto fold = &PassOptions::fold_constants;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = Shape{3}});
  const Feeds feeds{{x, random_array<float>({3}, 1)}};
  const Tensor known = sqrt(constant(2.0f) * constant({1.0f, 2.0f, 3.0f}));
  const OnOff folded = run_with_and_without(graph, {x + known}, fold, feeds);
  CHECK(folded.on.launches == 1);
  CHECK(folded.off.launches == 3);
  const OnOff fetched = run_with_and_without(graph, {x + known, known}, fold, feeds);
  CHECK(fetched.on.count("Sqrt") == 0);  // a folded value may be fetched
  CHECK(fetched.on.count("Mul") == 0);
}

TEST_CASE("passes: random, fed, variable and large values are not folded") {
  const auto fold = &PassOptions::fold_constants;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor two = constant(2.0f);
  const Tensor drawn = random_uniform({3}, {.seed = 1}) * two;
  const OnOff random = run_with_and_without(graph, {drawn}, fold);
  CHECK(random.on.count("Mul") == 1);
  const Variable w(random_array<float>({3}, 1));
  CHECK(run_with_and_without(graph, {w * two}, fold).on.count("Mul") == 1);
  const Feeds feeds{{two, Array::scalar(3.0f)}};
  CHECK(run_with_and_without(graph, {two * two}, fold, feeds).on.count("Mul") == 1);
  const Tensor large = zeros({64 * 1024}) + 1.0f;  // four times kFoldedBytes
  CHECK(run_with_and_without(graph, {large}, fold).on.count("AddV2") == 1);
  Tensor waits;
  {
    const auto after = control_dependencies({Fetch(assign(w, Array::zeros(float32, {3})))});
    waits = two + two;
  }
  CHECK(run_with_and_without(graph, {waits}, fold).on.count("AddV2") == 1);
}

TEST_CASE("passes: equal nodes are computed once") {
  const auto share = &PassOptions::share_subexpressions;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = Shape{4, 4}});
  const Feeds feeds{{x, random_array<float>({4, 4}, 1)}};
  const OnOff equal = run_with_and_without(graph, {tanh(x) + exp(tanh(x))}, share, feeds);
  CHECK(equal.on.count("Tanh") == 1);
  CHECK(equal.off.count("Tanh") == 2);
  CHECK(equal.on.launches == 3);
  CHECK(equal.off.launches == 4);
  const Tensor a = tanh(x), b = tanh(x);
  CHECK(run_with_and_without(graph, {a, b}, share, feeds).on.count("Tanh") == 1);  // both fetched
}

TEST_CASE("passes: nodes that only look equal are not shared") {
  const auto share = &PassOptions::share_subexpressions;
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = Shape{4, 4}});
  const Feeds feeds{{x, random_array<float>({4, 4}, 1)}};
  const auto count = [&](const std::vector<Fetch>& fetches, const char* op) {
    return run_with_and_without(graph, fetches, share, feeds, 2).on.count(op);
  };
  CHECK(count({matmul(x, x), matmul(x, x, {.transpose_b = true})}, "MatMul") == 2);
  Tensor elsewhere;
  {
    const auto other = device("/cpu:1");
    elsewhere = tanh(x);
  }
  CHECK(count({tanh(x), elsewhere}, "Tanh") == 2);
  const Variable w(random_array<float>({4}, 1));
  const Tensor before = w * 2.0f, changed = assign(w, Array::zeros(float32, {4}));
  const Tensor after = w * 2.0f;
  CHECK(count({before, changed, after}, "Mul") == 2);
  Tensor waits;
  {
    const auto control = control_dependencies({Fetch(changed)});
    waits = tanh(x);
  }
  CHECK(count({tanh(x), waits}, "Tanh") == 2);
  CHECK(count({random_uniform({3}, {.seed = 1}), random_uniform({3}, {.seed = 1})},
              "RandomUniform") == 2);
}

TEST_CASE("passes: memory used again keeps values") {
  Graph graph;
  const auto guard = graph.as_default();
  Tensor x = placeholder(float32, {.shape = Shape{50}});
  const Feeds feeds{{x, random_array<float>({50}, 1)}};
  Tensor y = x;
  for (int i = 0; i < 9; ++i) y = tanh(y) * x;
  PassOptions fresh = only_rewrites();
  fresh.reuse_buffers = false;
  const RunResult on = run_with(graph, {y}, only_rewrites(), nullptr, feeds);
  const RunResult off = run_with(graph, {y}, fresh, nullptr, feeds);
  CHECK(same_bits(on, off));
  CHECK(on.launches == off.launches);
  CHECK(on.has("buffers used again"));
  CHECK_FALSE(off.has("buffers used again"));
}

}  // namespace
}  // namespace towerflow
