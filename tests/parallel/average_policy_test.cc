// Averages of towers' gradients under each policy: values, absent gradients, slices, and the one
// instruction that averages and updates.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::array_of;
using testing::numbers;
using Numbers = std::vector<double>;
using TowerGrads = std::vector<std::vector<GradAndVar>>;

namespace {

Tensor vector_of(const Numbers& values) {
  return tf::constant(
      array_of(DType::float32, Shape{static_cast<std::int64_t>(values.size())}, values));
}

/// Three towers. All have a gradient of `everywhere`, towers 0 and 2 one of `some`, none of
/// `nowhere`.
struct Towers {
  Variable everywhere{array_of(DType::float32, {2}, {1, 2}), {.name = "everywhere"}};
  Variable some{array_of(DType::float32, {2}, {10, 20}), {.name = "some"}};
  Variable nowhere{array_of(DType::float32, {2}, {100, 200}), {.name = "nowhere"}};
  TowerGrads grads;
  std::vector<Tensor> weights;

  Towers() {
    for (int i = 0; i < 3; ++i) {
      const double g = i + 1;
      OptionalGradient of_some;
      if (i != 1) of_some = vector_of({10 * g, -g});
      grads.push_back({{Gradient(vector_of({g, 2 * g})), everywhere},
                       {of_some, some},
                       {std::nullopt, nowhere}});
      weights.push_back(tf::constant(i + 1));  // an integer, as a number of examples would be
    }
  }
};

struct Expected {
  AveragePolicy policy;
  Numbers everywhere, some;
};
const Expected kExpected[] = {
    {AveragePolicy::mean_over_present, {2, 4}, {20, -2}},
    {AveragePolicy::mean_over_all, {2, 4}, {40.0F / 3, -4.0F / 3}},
    {AveragePolicy::sum, {6, 12}, {40, -4}},
    {AveragePolicy::weighted_mean, {14.0F / 6, 28.0F / 6}, {100.0F / 4, -10.0F / 4}},
};

AverageOptions options_of(AveragePolicy policy, const std::vector<Tensor>& weights) {
  AverageOptions options{.policy = policy};
  if (policy == AveragePolicy::weighted_mean) options.weights = weights;
  return options;
}

/// Returns the types of the nodes that `make` appends.
template <class Make>
std::vector<std::string> ops_of(Make make) {
  Graph& graph = get_default_graph();
  const std::size_t before = graph.size();
  make();
  std::vector<std::string> ops;
  for (std::size_t i = before; i < graph.size(); ++i) ops.push_back(graph.operation(i).type());
  return ops;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the policies' values; absent everywhere stays absent") {
  for (const Expected& expected : kExpected) {
    CAPTURE(static_cast<int>(expected.policy));
    Graph graph;
    const auto guard = graph.as_default();
    const Towers towers;
    const auto averages =
        tf::average_gradients(towers.grads, options_of(expected.policy, towers.weights));
    CHECK(numbers(averages[0].grad->dense()) == expected.everywhere);
    CHECK(numbers(averages[1].grad->dense()) == expected.some);
    CHECK_FALSE(averages[2].grad.has_value());
  }
}

TEST_CASE("an average knows how many towers it is the mean of") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Variable everywhere = tf::get_variable("everywhere", {2});
  const Variable some = tf::get_variable("some", {2});
  tf::train::GradientDescentOptimizer opt(0.1);
  TowerGrads grads;
  std::vector<Tensor> weights;
  for (int i = 0; i < 3; ++i) {
    const Tensor used = i == 1 ? Tensor(everywhere) : everywhere * some;
    grads.push_back(opt.compute_gradients(tf::reduce_sum(used), {.var_list = {everywhere, some}}));
    weights.push_back(tf::constant(i + 1));
  }
  const auto towers = [&](AveragePolicy policy) {
    const auto averages = average_gradients(grads, options_of(policy, weights));
    return std::pair(averages[0].grad.origin()->towers, averages[1].grad.origin()->towers);
  };
  CHECK(grads[0][0].grad.origin()->towers == 1);
  CHECK(towers(AveragePolicy::mean_over_present) == std::pair(3, 2));
  CHECK(towers(AveragePolicy::weighted_mean) == std::pair(3, 2));
  CHECK(towers(AveragePolicy::mean_over_all) == std::pair(3, 3));
  CHECK(towers(AveragePolicy::sum) == std::pair(1, 1));
}

TEST_CASE("require_all is the mean, and names every variable and tower that lacks one") {
  Graph graph;
  const auto guard = graph.as_default();
  Towers towers;
  try {
    tf::average_gradients(towers.grads, {.policy = AveragePolicy::require_all});
    FAIL("an absent gradient went through");
  } catch (const ValueError& error) {
    const std::string text = error.what();
    CHECK(contains(text, "\n  some:0: tower 1"));
    CHECK_FALSE(contains(text, "everywhere"));
    CHECK_FALSE(contains(text, "nowhere"));  // absent in all towers is no mistake of one tower
  }
  towers.grads[0][0].grad.reset();
  towers.grads[2][1].grad.reset();
  try {
    tf::average_gradients(towers.grads, {.policy = AveragePolicy::require_all});
    FAIL("absent gradients went through");
  } catch (const ValueError& error) {
    CHECK(contains(error.what(), "\n  everywhere:0: tower 0\n  some:0: tower 1, tower 2"));
  }
  for (auto& pairs : towers.grads) {
    pairs[0].grad = vector_of({3, 4});
    pairs[1].grad.reset();
  }
  const auto averages = tf::average_gradients(towers.grads, {.policy = AveragePolicy::require_all});
  CHECK(numbers(averages[0].grad->dense()) == Numbers{3, 4});
  CHECK_FALSE(averages[1].grad.has_value());
}

TEST_CASE("the nodes of each policy") {
  Graph graph;
  const auto guard = graph.as_default();
  Towers towers;
  for (auto& pairs : towers.grads) pairs.erase(pairs.begin() + 1, pairs.end());
  const auto nodes = [&](AveragePolicy policy) {
    return ops_of([&] { tf::average_gradients(towers.grads, options_of(policy, towers.weights)); });
  };
  using Ops = std::vector<std::string>;
  const auto dims = [](const char* before) {
    Ops ops;
    for (int i = 0; i < 3; ++i) {
      if (*before != '\0') {
        ops.emplace_back("Cast");
        ops.emplace_back(before);
      }
      ops.emplace_back("Const");
      ops.emplace_back("ExpandDims");
    }
    ops.emplace_back("Const");
    ops.emplace_back("ConcatV2");
    ops.emplace_back("Const");
    return ops;
  };
  const auto with = [](Ops ops, const Ops& more) {
    ops.insert(ops.end(), more.begin(), more.end());
    return ops;
  };
  CHECK(nodes(AveragePolicy::mean_over_present) == with(dims(""), {"Mean"}));
  CHECK(nodes(AveragePolicy::require_all) == with(dims(""), {"Mean"}));
  CHECK(nodes(AveragePolicy::sum) == with(dims(""), {"Sum"}));
  CHECK(nodes(AveragePolicy::mean_over_all) == with(dims(""), {"Sum", "Const", "RealDiv"}));
  CHECK(nodes(AveragePolicy::weighted_mean) == with(dims("Mul"), {"Sum", "AddN", "RealDiv"}));
}

TEST_CASE("every policy and the loop written by hand end in one instruction, bits unchanged") {
  for (const Expected& expected : kExpected) {
    for (const bool fed_weights : {false, true}) {
      CAPTURE(static_cast<int>(expected.policy));
      const auto ran = [&](bool fused) {
        Graph graph;
        const auto guard = graph.as_default();
        Towers towers;
        Feeds feeds;
        if (fed_weights) {
          for (std::size_t i = 0; i < 3; ++i) {
            towers.weights[i] = tf::placeholder(DType::float32, {.shape = Shape{}});
            feeds.push_back({towers.weights[i], Array::scalar(0.1F + static_cast<float>(i))});
          }
        }
        if (expected.policy != AveragePolicy::weighted_mean) feeds = {};
        train::AdamOptimizer opt(0.1);
        const Operation step = opt.apply_gradients(
            tf::average_gradients(towers.grads, options_of(expected.policy, towers.weights)));
        ConfigProto config;
        config.passes.fold_constants = false;
        if (!fused) config.passes.skipped_rewrites = {"updates"};
        Session session(graph, config);
        session.run(tf::global_variables_initializer());
        for (int i = 0; i < 3; ++i) session.run(step, feeds);
        const std::string report = session.plan_report(std::vector<Fetch>{step});
        if (fused) {
          CHECK(contains(report, "  _MeanApplyAdam ["));
          for (const char* gone : {"  ApplyAdam", "ConcatV2 [", "Sum [", "Mean [", "RealDiv ["})
            CHECK_FALSE(contains(report, gone));
        }
        std::vector<Fetch> kept{towers.everywhere, towers.some, towers.nowhere};
        for (const Variable& slot : opt.variables()) kept.emplace_back(slot);
        return session.run(kept);
      };
      const auto fused = ran(true);
      CHECK(fused == ran(false));
      CHECK(numbers(fused[2]) == Numbers{100, 200});
    }
  }
}

TEST_CASE("slices stay slices under every policy") {
  struct Case {
    AveragePolicy policy;
    Numbers rows;
  };
  // Tower 0 has rows 0 and 1, tower 2 rows 1 and 3; tower 1 has none.
  const Case cases[] = {{AveragePolicy::mean_over_present, {0.5, 1, 0, 1.5}},
                        {AveragePolicy::mean_over_all, {1 / 3.0F, 1 / 3.0F + 1 / 3.0F, 0, 1}},
                        {AveragePolicy::sum, {1, 2, 0, 3}},
                        {AveragePolicy::weighted_mean, {0.25, 1, 0, 2.25}}};
  for (const Case& one : cases) {
    for (const bool fused : {false, true}) {
      CAPTURE(static_cast<int>(one.policy));
      CAPTURE(fused);
      Graph graph;
      const auto guard = graph.as_default();
      const Variable w(Array::zeros(DType::float32, {4, 1}), {.name = "w"});
      const auto slices = [&](const Numbers& values, const Numbers& rows) {
        return Gradient(IndexedSlices{tf::constant(array_of(DType::float32, {2, 1}, values)),
                                      tf::constant(array_of(DType::int32, {2}, rows)),
                                      tf::constant({4, 1})});
      };
      const TowerGrads grads{
          {{slices({1, 1}, {0, 1}), w}}, {{std::nullopt, w}}, {{slices({1, 3}, {1, 3}), w}}};
      const std::vector<Tensor> weights{tf::constant(1.0F), tf::constant(7.0F), tf::constant(3.0F)};
      const auto averages = tf::average_gradients(grads, options_of(one.policy, weights));
      REQUIRE_FALSE(averages[0].grad->is_dense());
      CHECK(numbers(tf::convert_to_tensor(averages[0].grad->slices())) == one.rows);
      train::MomentumOptimizer opt(1.0, 0.5);
      const Operation step = opt.apply_gradients(averages);
      ConfigProto config;
      config.passes.fold_constants = false;
      if (!fused) config.passes.skipped_rewrites = {"updates"};
      Session session(graph, config);
      session.run(tf::global_variables_initializer());
      session.run(step);
      Numbers moved = numbers(session.run(w));
      for (double& x : moved) x = -x;
      CHECK(moved == one.rows);
      CHECK(contains(session.plan_report(std::vector<Fetch>{step}),
                     "  _MeanSparseApplyMomentum [") == fused);
    }
  }
}

TEST_CASE("weights that do not fit") {
  Graph graph;
  const auto guard = graph.as_default();
  const Towers towers;
  const auto average = [&](AveragePolicy policy, std::vector<Tensor> weights) {
    return tf::average_gradients(towers.grads, {.policy = policy, .weights = std::move(weights)});
  };
  CHECK_THROWS_AS(average(AveragePolicy::weighted_mean, {}), ValueError);
  CHECK_THROWS_AS(average(AveragePolicy::weighted_mean, {tf::constant(1.0F)}), ValueError);
  CHECK_THROWS_AS(average(AveragePolicy::sum, towers.weights), ValueError);
  std::vector<Tensor> vectors(3, vector_of({1, 2}));
  CHECK_THROWS_AS(average(AveragePolicy::weighted_mean, vectors), ValueError);
}
