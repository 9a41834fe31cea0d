// Simulated steps against steps that simulated accelerators run, on their virtual clock.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

#include "report/scale/simulate.h"
#include "towerflow/tf.h"

namespace towerflow::report {
namespace {

constexpr double kBandwidth = 2e8, kLatency = 1e-4;

/// Three dense layers on towers that train them, with 5.3 MB of variables.
struct Perceptron {
  Perceptron(int towers, VariableHome home) {
    tf::set_random_seed(1);
    tf::train::MomentumOptimizer opt(0.01, 0.9);
    std::vector<std::vector<tf::GradAndVar>> grads;
    const auto vars = tf::variable_scope(tf::get_variable_scope(), {.home = home});
    for (int i = 0; i < towers; ++i) {
      const auto gpu = tf::device(fmt::format("/gpu:{}", i));
      const auto scope = tf::name_scope(fmt::format("tower_{}", i));
      const auto x = tf::random_uniform({16, 256}, {.seed = i});
      const auto a = tf::tanh(tf::matmul(x, tf::get_variable("a", {256, 1024})));
      const auto b = tf::tanh(tf::matmul(a, tf::get_variable("b", {1024, 1000})));
      const auto c = tf::matmul(b, tf::get_variable("c", {1000, 10}));
      grads.push_back(opt.compute_gradients(tf::reduce_mean(tf::square(c))));
      tf::get_variable_scope().reuse_variables();
    }
    train = opt.apply_gradients(tf::average_gradients(grads));
  }

  /// Returns traces of five steps.
  std::vector<RunMetadata> traces(const ConfigProto& config) {
    Session session(graph, config);
    session.run(tf::global_variables_initializer());
    const std::vector<Fetch> fetches{train};
    for (int i = 0; i < 2; ++i) session.run(fetches);
    std::vector<RunMetadata> all(5);
    for (RunMetadata& one : all) {
      session.run(fetches, {}, {.trace_level = RunOptions::FULL_TRACE}, &one);
    }
    return all;
  }

  Graph graph;
  DefaultGraphGuard guard = graph.as_default();
  Operation train;
};

/// Returns the bytes per second that one core reads and writes.
double memory_rate() {
  std::vector<char> from(32 << 20, 1), to(32 << 20, 2);  // more than a cache
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    const std::clock_t begin = std::clock();
    std::memcpy(to.data(), from.data(), to.size());
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    best = std::max(best, 2.0 * static_cast<double>(to.size()) / std::max(seconds, 1e-5));
  }
  CHECK(to[5] == 1);
  return best;
}

StepProfile profile_of_one() {
  Perceptron one(1, VariableHome::host);
  const auto traces = one.traces(
      {.allow_soft_placement = true, .simulated = {.count = 1, .bandwidth = 1e15, .latency = 0}});
  std::vector<StepProfile> profiles;
  for (const RunMetadata& trace : traces) profiles.push_back(profile_of_trace(trace, "one", 16));
  std::sort(profiles.begin(), profiles.end(),
            [](const auto& a, const auto& b) { return a.compute < b.compute; });
  return profiles[2];
}

double measured_step(int towers, VariableHome home, AllReduce algorithm) {
  Perceptron many(towers, home);
  const auto traces =
      many.traces({.allow_soft_placement = true,
                   .simulated = {.count = towers, .bandwidth = kBandwidth, .latency = kLatency},
                   .passes = {.all_reduce = {.algorithm = algorithm}}});
  std::vector<double> seconds;
  for (const RunMetadata& trace : traces) seconds.push_back(trace.virtual_seconds);
  std::sort(seconds.begin(), seconds.end());
  return seconds[2];
}

TEST_CASE("a traced step becomes a profile: gradients in the order of the backward pass") {
  const StepProfile profile = profile_of_one();
  REQUIRE(profile.gradients.size() == 3);
  CHECK(profile.gradients[0].bytes == 4 * 1000 * 10);
  CHECK(profile.gradients[1].bytes == 4 * 1024 * 1000);
  CHECK(profile.gradients[2].bytes == 4 * 256 * 1024);
  CHECK(profile.gradients[0].ready > 0);
  CHECK(profile.gradients[2].ready <= profile.compute);
  const StepProfile faster = profile.faster(10);
  CHECK(faster.compute == doctest::Approx(profile.compute / 10));
  CHECK_THROWS_AS(profile_of_trace({}, "nothing", 1), ValueError);
}

struct Comparison {
  double predicted, measured;
  double difference() const { return std::abs(predicted / measured - 1); }
};

Comparison compare(const char* word, int towers) {
  const StepProfile profile = profile_of_one();
  const double memory = memory_rate();
  const Cluster cluster{.towers_per_host = towers,
                        .inside = {kBandwidth, kLatency},
                        .tower_memory = memory,
                        .host_memory = memory,
                        .receiver_copies = true};
  const ScaleOptions options{.strategy = scale_strategy(word), .group_size = 2};
  const bool replicated = options.strategy.kind == ScaleStrategy::Kind::all_reduce;
  return {simulate_step(profile, cluster, options, towers).step,
          measured_step(towers, replicated ? VariableHome::mirrored : VariableHome::host,
                        options.strategy.algorithm)};
}

TEST_CASE("the simulation predicts what simulated accelerators take") {
  for (const int towers : {2, 4, 8}) {
    for (const char* word : {"ring", "shuffle", "tree", "hierarchical", "parameter_server"}) {
      CAPTURE(towers);
      CAPTURE(word);
      // Kernels take longer while something else runs on the machine, be it during the profile or
      // the steps.
      Comparison closest = compare(word, towers);
      for (int more = 0; more < 4 && closest.difference() > 0.1; ++more) {
        const Comparison again = compare(word, towers);
        if (again.difference() < closest.difference()) closest = again;
      }
      MESSAGE(fmt::format("{} {}: predicted {:.1f} ms, measured {:.1f} ms, {:+.1f} %", word, towers,
                          1e3 * closest.predicted, 1e3 * closest.measured,
                          100 * (closest.predicted / closest.measured - 1)));
      CHECK(closest.difference() < 0.2);
    }
  }
}

}  // namespace
}  // namespace towerflow::report
