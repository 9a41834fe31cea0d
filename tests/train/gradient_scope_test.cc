// transform_gradients and GradientScope: what optimizers compute and apply within a scope.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

/// Returns `pairs` with each dense gradient times `factor`.
std::vector<GradAndVar> scaled(const std::vector<GradAndVar>& pairs, float factor) {
  std::vector<GradAndVar> result;
  for (const GradAndVar& pair : pairs) {
    result.push_back({OptionalGradient(pair.grad->dense() * factor), pair.var});
  }
  return result;
}

}  // namespace

TEST_CASE("gradients pass through the functions of the open scopes, the inner one first") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {2}, {.initializer = zeros_initializer()});
  train::GradientDescentOptimizer opt(1.0f);
  std::vector<std::string> called;
  const auto scaling = [&](const char* name, float factor) {
    return [&called, name, factor](const std::vector<GradAndVar>& pairs) {
      called.emplace_back(name);
      return scaled(pairs, factor);
    };
  };
  Operation inside, outside;
  {
    const auto outer = train::transform_gradients(scaling("outer", 2.0f));
    const auto inner = train::transform_gradients(scaling("inner", 5.0f));
    inside = opt.minimize(reduce_sum(w * constant({1.0f, 3.0f})));
    CHECK(called == std::vector<std::string>{"inner", "outer"});
  }
  outside = opt.minimize(reduce_sum(w * constant({1.0f, 3.0f})));
  CHECK(called.size() == 2);
  Session session;
  session.run(global_variables_initializer());
  session.run(inside);
  CHECK(numbers(session.run(w)) == std::vector<double>{-10, -30});
  session.run(outside);
  CHECK(numbers(session.run(w)) == std::vector<double>{-11, -33});
}

TEST_CASE("a scope changes what compute_gradients returns") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {2}, {.initializer = zeros_initializer()});
  const Variable other = get_variable("other", {2}, {.initializer = zeros_initializer()});
  const Tensor loss = reduce_sum(w * constant({1.0f, 3.0f})) + reduce_sum(square(other));
  train::GradientDescentOptimizer opt(1.0f);
  const train::GradientScope outer(graph, {.computed = [](const std::vector<GradAndVar>& pairs) {
                                     return scaled(pairs, 2.0f);
                                   }});
  const train::GradientScope inner(graph, {.computed = [](const std::vector<GradAndVar>& pairs) {
                                     CHECK(pairs.size() == 2);
                                     return std::vector<GradAndVar>{pairs.front()};
                                   }});
  const auto pairs = opt.compute_gradients(loss);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].var == w);
  CHECK(numbers(pairs[0].grad->dense()) == std::vector<double>{2, 6});
}

TEST_CASE("a variable that the function of a scope leaves out is not updated") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable kept = get_variable("kept", {2}, {.initializer = zeros_initializer()});
  const Variable left = get_variable("left", {2}, {.initializer = zeros_initializer()});
  train::MomentumOptimizer opt(1.0f, 0.9f);
  const auto scope = train::transform_gradients(
      [](const std::vector<GradAndVar>& pairs) { return std::vector<GradAndVar>{pairs.front()}; });
  const Operation step = opt.minimize(reduce_sum(kept) + reduce_sum(left));
  CHECK(opt.get_slot(kept, "momentum"));
  CHECK_FALSE(opt.get_slot(left, "momentum"));
  Session session;
  session.run(global_variables_initializer());
  session.run(step);
  CHECK(numbers(session.run(kept)) == std::vector<double>{-1, -1});
  CHECK(numbers(session.run(left)) == std::vector<double>{0, 0});
}

TEST_CASE("a scope of the gradients belongs to one graph, and needs a function") {
  Graph graph, other;
  const auto guard = graph.as_default();
  CHECK_THROWS_AS(auto scope = train::transform_gradients({}), ValueError);
  const auto scope = train::transform_gradients(
      [](const std::vector<GradAndVar>& pairs) { return scaled(pairs, 0.0f); });
  const auto there = other.as_default();
  const Variable w = get_variable("w", {1}, {.initializer = zeros_initializer()});
  train::GradientDescentOptimizer opt(1.0f);
  const Operation step = opt.minimize(reduce_sum(w));
  Session session;
  session.run(global_variables_initializer());
  session.run(step);
  CHECK(numbers(session.run(w)) == std::vector<double>{-1});
}
