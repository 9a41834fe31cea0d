// Mirrored variables: each accelerator updates its own copy, with the average of all gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <span>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

/// How towers combine the gradients of a program.
struct Case {
  const char* name;
  AveragePolicy policy = AveragePolicy::mean_over_present;
  bool absent = false;   ///< whether the last tower does not use one of the variables
  bool slices = false;   ///< whether a table is read by rows
  bool by_hand = false;  ///< whether the program adds and multiplies, as the ResNet's does
  bool clipped = false;  ///< whether the averages are clipped by their global norm
  bool empty = false;    ///< whether tower 0 has weight 0, which is only known in the step
};

constexpr Case kCases[] = {
    {"mean"},
    {"sum", AveragePolicy::sum},
    {"mean over all", AveragePolicy::mean_over_all, true},
    {"weighted", AveragePolicy::weighted_mean},
    {"absent", AveragePolicy::mean_over_present, true},
    {"slices", AveragePolicy::mean_over_present, false, true},
    {"by hand", AveragePolicy::mean_over_present, false, false, true},
    {"clipped", AveragePolicy::mean_over_present, false, false, false, true},
    {"empty", AveragePolicy::weighted_mean, false, true, false, false, true}};

std::vector<GradAndVar> average_by_hand(const std::vector<std::vector<GradAndVar>>& tower_grads) {
  std::vector<GradAndVar> averages;
  const auto cpu = tf::device("/cpu:0");
  for (std::size_t i = 0; i < tower_grads[0].size(); ++i) {
    std::vector<Tensor> grads;
    for (const auto& tower : tower_grads) grads.push_back(tower[i].grad->dense());
    const double share = 1.0 / static_cast<double>(grads.size());
    averages.push_back({Gradient(tf::multiply(tf::add_n(grads), share)), tower_grads[0][i].var});
  }
  return averages;
}

/// Towers with variables of many sizes, dealt to GPUs, and Adam.
struct Program {
  Program(const Case& of, int count, VariableHome home, int gpus = 8) {
    const auto guard = graph.as_default();
    tf::set_random_seed(3);
    tf::train::AdamOptimizer opt(0.1);
    std::vector<std::vector<GradAndVar>> tower_grads;
    AverageOptions average{.policy = of.policy};
    {
      const auto vars = tf::variable_scope(tf::get_variable_scope(), {.home = home});
      for (int i = 0; i < count; ++i) {
        const auto gpu = tf::device("/gpu:" + std::to_string(i % gpus));
        const auto scope = tf::name_scope("tower_" + std::to_string(i));
        const Tensor loss = tower(of, i, i == count - 1);
        if (of.policy == AveragePolicy::weighted_mean) {
          const Tensor known = tf::constant((of.empty ? 0.0F : 1.0F) + static_cast<float>(i));
          average.weights.push_back(of.empty ? tf::placeholder_with_default(known, {}) : known);
        }
        tower_grads.push_back(opt.compute_gradients(loss));
        fetches.emplace_back(loss);
        tf::get_variable_scope().reuse_variables();
      }
    }
    auto grads =
        of.by_hand ? average_by_hand(tower_grads) : average_gradients(tower_grads, average);
    if (of.clipped) {
      std::vector<OptionalGradient> list;
      std::vector<Variable> vars;
      for (const GradAndVar& pair : grads) {
        list.push_back(pair.grad);
        vars.push_back(pair.var);
      }
      grads = tf::zip(tf::clip_by_global_norm(list, 0.5).list_clipped, vars);
    }
    fetches.emplace_back(opt.apply_gradients(grads));
    init = tf::global_variables_initializer();
    for (const Variable& v : tf::global_variables()) variables.emplace_back(v);
  }

  static Tensor tower(const Case& of, int i, bool last) {
    const auto get = [](const char* name, const Shape& shape) {
      const auto cpu = tf::device("/cpu:0");
      return tf::get_variable(name, shape);
    };
    const Tensor x = tf::random_uniform({8, 5}, {.seed = i});
    Tensor y = tf::tanh(tf::matmul(x, get("w", {5, 37})) + get("b", {37}));
    y = tf::matmul(y, get("u", {37, 129})) * get("scale", Shape{});
    const Variable extra = get("extra", {129});
    if (!of.absent || !last) y = y + extra;
    if (of.slices)
      y = y + tf::gather(get("table", {6, 129}), {i % 6, 1, (i + 3) % 6, 1, 0, 2, 1, i % 6});
    return tf::reduce_mean(tf::square(y), {.name = "loss"});
  }

  /// Returns the losses of three steps, and the variables after them.
  std::vector<Array> results(const ConfigProto& config) {
    Session session(graph, config);
    session.run(init);
    std::vector<Array> all;
    for (int step = 0; step < 3; ++step) {
      for (Array& value : session.run(fetches)) all.push_back(std::move(value));
    }
    for (Array& value : session.run(variables)) all.push_back(std::move(value));
    return all;
  }

  Graph graph;
  std::vector<Fetch> fetches, variables;
  Operation init;
};

ConfigProto accelerators(int count, AllReduceOptions options) {
  return {.allow_soft_placement = true,
          .simulated = {.count = count, .latency = 0, .jitter = 50e-6},
          .passes = {.all_reduce = options}};
}

/// Returns the largest distance of two lists, relative to the numbers above 1.
double distance(const std::vector<Array>& a, const std::vector<Array>& b) {
  double largest = 0;
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].empty()) continue;
    const auto x = numbers(a[i]), y = numbers(b[i]);
    for (std::size_t k = 0; k < x.size(); ++k) {
      largest = std::max(largest, std::abs(x[k] - y[k]) / std::max(1.0, std::abs(y[k])));
    }
  }
  return largest;
}

struct Algorithm {
  const char* name;
  AllReduceOptions options;
  int exact = 0;  ///< up to how many devices it adds in the order of the towers
};

constexpr Algorithm kAlgorithms[] = {
    {"gather", {AllReduce::gather}, 8},
    {"shuffle", {AllReduce::shuffle}, 8},
    {"shuffle, small buckets", {AllReduce::shuffle, 200}, 8},
    {"ring", {AllReduce::ring}, 8},
    {"ring, small buckets", {AllReduce::ring, 1}, 8},
    {"tree", {AllReduce::tree}, 2},
    {"hierarchical", {AllReduce::hierarchical, 4 << 20, 2}, 3},
    {"hierarchical, groups of 3", {AllReduce::hierarchical, 200, 3}, 4}};

/// Compares a program on accelerators with the same one on CPUs.
void compare(const Case& of, int count, std::span<const Algorithm> algorithms) {
  const auto expected =
      Program(of, count, VariableHome::host).results({.allow_soft_placement = true});
  Program program(of, count, VariableHome::mirrored);
  for (const Algorithm& algorithm : algorithms) {
    CAPTURE(algorithm.name);
    const auto found = program.results(accelerators(count, algorithm.options));
    if (count <= algorithm.exact) CHECK(found == expected);
    CHECK(distance(found, expected) < 1e-5);
  }
}

}  // namespace

TEST_CASE("however gradients are combined, mirrored variables get the values of the host's") {
  for (const Case& of : kCases) {
    CAPTURE(of.name);
    compare(of, 2, std::span(kAlgorithms).subspan(0, 2));
    compare(of, 4, std::span(kAlgorithms).subspan(3, 2));
  }
}

TEST_CASE("every algorithm gives mirrored variables the values of the host's") {
  for (const int count : {2, 3, 5}) {
    CAPTURE(count);
    compare(kCases[1], count, kAlgorithms);
  }
}

TEST_CASE("a step with mirrored variables repeats bit for bit") {
  Program program(kCases[0], 4, VariableHome::mirrored);
  for (const Algorithm& algorithm : kAlgorithms) {
    CAPTURE(algorithm.name);
    const auto first = program.results(accelerators(4, algorithm.options));
    CHECK(program.results(accelerators(4, algorithm.options)) == first);
  }
}

TEST_CASE("several towers may share an accelerator") {
  const auto expected =
      Program(kCases[0], 4, VariableHome::host).results({.allow_soft_placement = true});
  Program program(kCases[0], 4, VariableHome::mirrored, 2);
  const auto found = [&](AllReduceOptions options) {
    return program.results(accelerators(2, options));
  };
  for (const Algorithm& algorithm : kAlgorithms) {
    CAPTURE(algorithm.name);
    CHECK(distance(found(algorithm.options), expected) < 1e-5);
  }
  CHECK(found({AllReduce::shuffle}) == expected);
}

TEST_CASE("an update of a mirrored variable sends gradients, not values") {
  Program program(kCases[0], 3, VariableHome::mirrored);
  for (const Algorithm& algorithm : kAlgorithms) {
    CAPTURE(algorithm.name);
    Session session(program.graph, accelerators(3, algorithm.options));
    session.run(program.init);
    session.run(program.fetches);
    const bool exchanges = algorithm.options.algorithm != AllReduce::gather;
    const std::string report = session.plan_report(program.fetches);
    CHECK((report.find("all-reduce: ") != report.npos) == exchanges);
    std::size_t filled = 0, on_exchange = 0;
    RunMetadata metadata;
    session.run(program.fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &metadata);
    for (const NodeStats& stats : metadata.nodes) {
      if (stats.lane == Lane::exchange && stats.kind == NodeStats::Kind::kernel) ++on_exchange;
      if (stats.kind != NodeStats::Kind::copy || stats.end == stats.begin) continue;
      filled += stats.node == "w" || stats.node == "u" || stats.node == "w/Adam";
    }
    CHECK(filled == 0);
    // An engine of its own adds the gradients, so that they do not wait for other kernels.
    CHECK((on_exchange > 0) == exchanges);
    // What is fetched is the copy of the first device, which all others equal.
    const auto before = session.run(program.variables);
    session.run(program.fetches);
    CHECK(session.run(program.variables) != before);
  }
}

TEST_CASE("an assignment to a mirrored variable reaches every device") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {4}, {.home = VariableHome::mirrored});
  const Tensor given = tf::placeholder(tf::float32, {.shape = {4}});
  const Tensor assigned = tf::assign(w, given);
  std::vector<Fetch> sums;
  std::vector<Tensor> seen;
  for (int i = 0; i < 3; ++i) {
    const auto gpu = tf::device("/gpu:" + std::to_string(i));
    seen.push_back(w * 2.0F);
    sums.emplace_back(tf::reduce_sum(seen.back()));
  }
  const Tensor halved = tf::assign(w, w * 0.5F);
  Session session(graph, accelerators(3, {}));
  const Array one = testing::array_of(float32, {4}, {1, 2, 3, 4});
  session.run(assigned, {{given, one}});
  for (const Array& sum : session.run(sums)) CHECK(sum.item<float>() == 20);
  std::vector<Fetch> step = sums;
  step.emplace_back(halved.op());
  for (float expected = 20; expected > 1; expected /= 2) {
    const auto found = session.run(step);
    for (int i = 0; i < 3; ++i) CHECK(found[static_cast<std::size_t>(i)].item<float>() == expected);
  }
  session.run(assigned, {{given, one}});
  for (const Array& sum : session.run(sums)) CHECK(sum.item<float>() == 20);
}

TEST_CASE("without accelerators, and for variables that are not trained, mirrored means the host") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto scope = tf::variable_scope("s", {.home = VariableHome::mirrored});
  const Variable w = tf::get_variable("w", {2});
  const Variable fixed = tf::get_variable("fixed", {2}, {.trainable = false});
  CHECK(w.home() == VariableHome::mirrored);
  CHECK(fixed.home() == VariableHome::host);
  const Operation step =
      tf::train::GradientDescentOptimizer(1.0).minimize(tf::reduce_sum(w + fixed));
  Session session(graph, {.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  const auto before = numbers(session.run(w));
  session.run(step);
  CHECK(numbers(session.run(w))[0] == doctest::Approx(before[0] - 1));
}

TEST_CASE("averages of mirrored variables stay on their accelerators, with a decay of the host") {
  Graph graph;
  const auto guard = graph.as_default();
  Operation train;
  {
    const auto vars =
        tf::variable_scope(tf::get_variable_scope(), {.home = VariableHome::mirrored});
    const auto gpu = tf::device("/gpu:0");
    const Variable w = tf::get_variable("w", {64, 64});
    const Variable step = tf::train::get_or_create_global_step();
    tf::train::ExponentialMovingAverage ema(0.9, step);
    train = ema.apply({w});
  }
  Session session({.allow_soft_placement = true, .simulated = {.count = 1}});
  session.run(tf::global_variables_initializer());
  session.run(train);
  const Fetch fetch = train;
  for (const Transfer& transfer : session.transfers({&fetch, 1})) CHECK(transfer.bytes <= 8);
}
