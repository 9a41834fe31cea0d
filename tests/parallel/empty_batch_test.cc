// Towers whose batches have different sizes, one example or none: the weighted mean is that of one
// big batch, and a tower without examples counts nothing whatever its gradients are.
#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;
using Numbers = std::vector<double>;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The gradients of N towers, and their weights, all fed.
struct FedTowers {
  Variable vector{Array::zeros(DType::float32, {3}), {.name = "vector"}};
  Variable number{Array::zeros(DType::float32, Shape{}), {.name = "number"}};
  Variable table{Array::zeros(DType::float32, {4, 2}), {.name = "table"}};
  std::vector<Tensor> weights, vectors, scalars, rows;
  std::vector<std::vector<GradAndVar>> grads;

  explicit FedTowers(int towers) {
    const auto fed = [](DType dtype, const Shape& shape) {
      return tf::placeholder(dtype, {.shape = shape});
    };
    for (int i = 0; i < towers; ++i) {
      weights.push_back(fed(DType::int32, Shape{}));
      vectors.push_back(fed(DType::float32, {3}));
      scalars.push_back(fed(DType::float32, Shape{}));
      rows.push_back(fed(DType::float32, {2, 2}));
      const IndexedSlices slices{rows.back(), tf::constant({i % 4, 3}), tf::constant({4, 2})};
      grads.push_back({{Gradient(vectors.back()), vector},
                       {Gradient(scalars.back()), number},
                       {Gradient(slices), table}});
    }
  }

  /// Tower i has i + 1 examples and the gradient i + 1, or none and NaN if it is in `empty`.
  Feeds feeds(unsigned empty) const {
    Feeds all;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const bool is_empty = (empty >> i & 1U) != 0;
      const float g = is_empty ? kNan : static_cast<float>(i) + 1;
      const auto full = [&](const Shape& shape) {
        Array array(DType::float32, shape);
        std::fill_n(array.data<float>(), array.elements(), g);
        return array;
      };
      all.push_back({weights[i], Array::scalar(is_empty ? 0 : static_cast<std::int32_t>(i) + 1)});
      all.push_back({vectors[i], full({3})});
      all.push_back({scalars[i], full(Shape{})});
      all.push_back({rows[i], full({2, 2})});
    }
    return all;
  }
};

/// What gradient descent with a rate of 1 subtracts for each set of empty towers.
std::vector<std::vector<Array>> steps(int towers, bool fused) {
  Graph graph;
  const auto guard = graph.as_default();
  const FedTowers fed(towers);
  train::MomentumOptimizer opt(-1.0, 0.5);
  const Operation step = opt.apply_gradients(tf::average_gradients(
      fed.grads, {.policy = AveragePolicy::weighted_mean, .weights = fed.weights}));
  ConfigProto config;
  if (!fused) config.passes.skipped_rewrites = {"updates"};
  Session session(graph, config);
  const Operation init = tf::global_variables_initializer();
  std::vector<std::vector<Array>> found;
  for (unsigned empty = 0; empty < 1U << towers; ++empty) {
    session.run(init);
    session.run(step, fed.feeds(empty));
    found.push_back(session.run(std::vector<Fetch>{fed.vector, fed.number, fed.table}));
  }
  const std::string report = session.plan_report(std::vector<Fetch>{step});
  CHECK((report.find("  _MeanApplyMomentum [") != std::string::npos) == fused);
  CHECK((report.find("  _MeanSparseApplyMomentum [") != std::string::npos) ==
        (fused && towers > 1));
  return found;
}

void check_near(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

/// The mean loss of linear regression with a factor, whose gradient is the mean itself, and rows of
/// a table.
struct Regression {
  std::vector<Tensor> x, ids;

  Tensor loss() {
    x.push_back(tf::placeholder(DType::float32, {.shape = {std::nullopt, 2}}));
    ids.push_back(tf::placeholder(DType::int32, {.shape = {std::nullopt}}));
    const auto get = [](const char* name, const Shape& shape) {
      return tf::get_variable(name, shape, {.initializer = tf::constant_initializer(0.5)});
    };
    const Tensor y =
        tf::matmul(x.back(), get("w", {2, 1})) + tf::gather(get("table", {3, 1}), ids.back());
    return get("factor", Shape{}) * tf::reduce_mean(tf::square(y - 1.0F));
  }

  /// Deals five examples to the towers, `sizes[i]` to tower i.
  Feeds feeds(const std::vector<std::int64_t>& sizes) const {
    const float all[] = {1, 2, -1, 0.5F, 3, 1, 0.25F, -2, 1, 1};
    Feeds feeds;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Array part(DType::float32, {sizes[i], 2}), rows(DType::int32, {sizes[i]});
      for (std::int64_t k = 0; k < sizes[i]; ++k, ++at) {
        part.data<float>()[2 * k] = all[2 * at];
        part.data<float>()[2 * k + 1] = all[2 * at + 1];
        rows.data<std::int32_t>()[k] = static_cast<std::int32_t>(at % 3);
      }
      feeds.push_back({x[i], part});
      feeds.push_back({ids[i], rows});
    }
    return feeds;
  }
};

/// Returns the variables after two steps, and the towers that a hook found without examples.
struct Trained {
  std::vector<Numbers> variables;
  std::map<std::int64_t, std::vector<int>> absent;
};

Trained train_on(const std::vector<std::vector<std::int64_t>>& sizes,
                 std::optional<tf::parallel::GradientClip> clip = {}) {
  Graph graph;
  const auto guard = graph.as_default();
  Regression regression;
  train::MomentumOptimizer opt(0.1, 0.5);
  const auto step = tf::train::get_or_create_global_step();
  const tf::parallel::Towers towers(
      opt, [&](int, const std::string&) { return regression.loss(); },
      {.num_towers = static_cast<int>(sizes[0].size()),
       .policy = AveragePolicy::weighted_mean,
       .weight = [&](int i) { return tf::shape(regression.ids[static_cast<std::size_t>(i)])[0]; },
       .clip = clip,
       .apply_gradients = {.global_step = step}});
  Trained trained;
  const auto report = [&](std::int64_t at, const std::vector<int>& absent) {
    trained.absent[at] = absent;
  };
  train::MonitoredTrainingSession session(
      {.hooks = {std::make_shared<tf::parallel::AbsentTowersHook>(towers.weights, report)},
       .config = {.allow_soft_placement = true}});
  for (const auto& batch : sizes) session.run(towers.train_op, regression.feeds(batch));
  for (const GradAndVar& pair : towers.grads) {
    trained.variables.push_back(numbers(session.raw_session().run(pair.var)));
    const Variable slot = *opt.get_slot(pair.var, "momentum");
    trained.variables.push_back(numbers(session.raw_session().run(slot)));
  }
  return trained;
}

}  // namespace

TEST_CASE("a weight of 0 leaves out a gradient, even NaN, fused or not") {
  for (int towers = 1; towers <= 4; ++towers) {
    const auto fused = steps(towers, true);
    CHECK(fused == steps(towers, false));
    for (unsigned empty = 0; empty < fused.size(); ++empty) {
      CAPTURE(towers);
      CAPTURE(empty);
      double sum = 0, weights = 0;
      Numbers rows(4, 0.0);
      for (int i = 0; i < towers; ++i) {
        if ((empty >> i & 1U) != 0) continue;
        sum += (i + 1) * (i + 1);
        weights += i + 1;
        rows[static_cast<std::size_t>(i % 4)] += (i + 1) * (i + 1);
        rows[3] += (i + 1) * (i + 1);
      }
      const double over = weights == 0 ? 1 : weights, mean = sum / over;
      Numbers table;
      for (const double row : rows) table.insert(table.end(), 2, row / over);
      check_near(numbers(fused[empty][0]), Numbers(3, mean));
      check_near(numbers(fused[empty][1]), {mean});
      check_near(numbers(fused[empty][2]), table);
    }
  }
}

TEST_CASE("uneven, small and empty batches weighted by their examples train as one big batch") {
  const Trained whole = train_on({{5}, {5}});
  const std::vector<std::vector<std::int64_t>> deals[] = {
      {{3, 2}, {4, 1}},        // uneven, and a smaller last one
      {{5, 0}, {0, 5}},        // one tower has nothing
      {{2, 2, 1}, {0, 5, 0}},  //
      {{2, 0, 3, 0}, {1, 1, 1, 2}},
  };
  for (const auto& deal : deals) {
    CAPTURE(deal[0].size());
    const Trained found = train_on(deal);
    for (std::size_t i = 0; i < whole.variables.size(); ++i) {
      check_near(found.variables[i], whole.variables[i]);
    }
    for (std::size_t at = 0; at < deal.size(); ++at) {
      std::vector<int> empty;
      for (std::size_t i = 0; i < deal[at].size(); ++i) {
        if (deal[at][i] == 0) empty.push_back(static_cast<int>(i));
      }
      const auto said = found.absent.find(static_cast<std::int64_t>(at) + 1);
      CHECK((said == found.absent.end() ? std::vector<int>{} : said->second) == empty);
    }
  }
}

TEST_CASE("clipping gives an empty tower gradients of NaN, which count nothing") {
  using namespace tf::parallel;  // NOLINT
  const std::vector<std::vector<std::int64_t>> deal{{3, 0, 2}, {0, 4, 1}};
  const Trained unclipped = train_on(deal);
  // The factors of norms within the limit are 1 but for rounding.
  const Trained found =
      train_on(deal, GradientClip{ClipWay::by_global_norm, 1000, ClipStage::per_tower});
  for (std::size_t i = 0; i < unclipped.variables.size(); ++i) {
    check_near(found.variables[i], unclipped.variables[i]);
  }
}

TEST_CASE("a step in which all towers are empty has a gradient of zero: the momentum coasts") {
  const Trained once = train_on({{3, 2}}), twice = train_on({{3, 2}, {0, 0}});
  for (std::size_t i = 0; i < once.variables.size(); i += 2) {
    for (std::size_t k = 0; k < once.variables[i].size(); ++k) {
      const bool is_table = once.variables[i].size() == 3;
      const double slot = once.variables[i + 1][k], coasts = is_table ? 0 : 0.5 * slot;
      CHECK(twice.variables[i][k] == doctest::Approx(once.variables[i][k] - 0.1 * coasts));
      CHECK(twice.variables[i + 1][k] == doctest::Approx(is_table ? slot : coasts));
    }
  }
  CHECK(twice.absent.at(2) == std::vector<int>{0, 1});
}

TEST_CASE("without a function of the program, the hook logs the towers of weight 0") {
  Graph graph;
  const auto guard = graph.as_default();
  const std::vector<Tensor> weights{tf::constant(0.0F), tf::constant(2), tf::constant(0)};
  train::MonitoredTrainingSession session(
      {.hooks = {std::make_shared<tf::parallel::AbsentTowersHook>(weights)}});
  std::string text;
  const LogSink before =
      set_log_sink([&](LogLevel, std::string_view line) { text += std::string(line) + "\n"; });
  session.run(weights[1]);
  set_log_sink(before);
  CHECK(text ==
        "step 1: tower 0 and tower 2 had weight 0, as of an empty batch, and counted nothing\n");
}
