// The contract of the strategies: on four accelerators with random delays, whatever the home of the
// variables and the all-reduce, a model gets the values of the update on the host.
//
// TOWERFLOW_TEST_CUDA=cuda-host:4 runs the first two cases on emulated GPUs in place of simulated
// accelerators: every strategy gives the bits of the host's update on GPUs, which is near that on
// CPUs. It takes a third of the models for each strategy unless TOWERFLOW_STRATEGIES=all.
// TOWERFLOW_STRATEGY_FAULTS is the number of faults that are injected for each strategy.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/models/contract_models.h"
#include "tests/support/cuda_devices.h"

using namespace towerflow;
using testing::kContractModels;
using testing::largest_difference;
using testing::Start;
using testing::Step;
using testing::trained;

namespace {

constexpr int kTowers = 4;

struct Strategy {
  const char* name;
  VariableHome home = VariableHome::mirrored;
  AllReduceOptions all_reduce{};
  /// Sums by pairs or groups differ from those in tower order in the last bits.
  bool in_tower_order = true;
};

const std::vector<Strategy> kStrategies{
    {"host", VariableHome::host},
    {"gather", VariableHome::mirrored, {.algorithm = AllReduce::gather}},
    {"shuffle", VariableHome::mirrored, {.algorithm = AllReduce::shuffle}},
    {"ring", VariableHome::mirrored, {.algorithm = AllReduce::ring}},
    {"ring in small buckets",
     VariableHome::mirrored,
     {.algorithm = AllReduce::ring, .bucket_bytes = 1024}},
    {"tree", VariableHome::mirrored, {.algorithm = AllReduce::tree}, false},
    {"hierarchical", VariableHome::mirrored, {.algorithm = AllReduce::hierarchical}, false}};

/// Makes a model with its variables at home as the strategy says.
std::function<Step()> made_for(const Strategy& strategy, const std::string& model) {
  return [=] {
    const auto scope = tf::variable_scope(tf::get_variable_scope(), {.home = strategy.home});
    return kContractModels.at(model)({.count = kTowers});
  };
}

ConfigProto simulated(const Strategy& strategy, unsigned seed, SimulatedFault fault = {}) {
  return {.allow_soft_placement = true,
          .simulated = {.count = kTowers,
                        .latency = 0,
                        .jitter = 100e-6,
                        .jitter_seed = seed,
                        .fault = fault},
          .passes = {.all_reduce = strategy.all_reduce}};
}

bool on_gpus() { return std::getenv("TOWERFLOW_TEST_CUDA") != nullptr; }

/// Each seed gives other delays.
ConfigProto accelerators(const Strategy& strategy, unsigned seed) {
  if (!on_gpus()) return simulated(strategy, seed);
  ConfigProto config{.allow_soft_placement = true, .passes = {.all_reduce = strategy.all_reduce}};
  config.cuda = testing::cuda_devices(kTowers);
  config.cuda.seed += seed;
  return config;
}

/// Returns the values of the host's update: on CPUs, or on GPUs, and then near those of CPUs.
std::vector<Array> values_of_host(const std::function<Step()>& make) {
  const auto on_cpus =
      trained(make, {.device_count = {{"CPU", kTowers}}, .allow_soft_placement = true});
  if (!on_gpus()) return on_cpus;
  const auto found = trained(make, accelerators(kStrategies[0], 1));
  CHECK(found.size() == on_cpus.size());
  const auto rounded = trained(
      make, {.device_count = {{"CPU", kTowers}}, .allow_soft_placement = true}, {}, Start::rounded);
  const double moved = largest_difference(rounded, on_cpus);
  CAPTURE(moved);
  CHECK(largest_difference(found, on_cpus) < std::max(1e-5, 4 * moved));
  return found;
}

void check_values(const std::vector<Array>& found, const std::vector<Array>& expected,
                  const Strategy& strategy) {
  if (strategy.in_tower_order) {
    CHECK(found == expected);
  } else {
    CHECK(largest_difference(found, expected) < 1e-6);
  }
}

/// Whether the strategy with this number trains the model with that one.
bool is_chosen(std::size_t strategy, std::size_t model) {
  return !on_gpus() || std::getenv("TOWERFLOW_STRATEGIES") != nullptr ||
         (strategy + model) % 3 == 0;
}

/// Makes a step that applies the gradients of the step before.
std::function<Step()> deferred(const std::function<Step()>& make) {
  return [=] {
    tf::parallel::DeferredGradients kept;
    const tf::train::GradientScope scope(
        tf::get_default_graph(),
        {.computed = [&](const std::vector<GradAndVar>& grads) { return kept.previous(grads); }});
    Step step = make();
    step.fetches.emplace_back(kept.keep());
    return step;
  };
}

unsigned fault_count() {
  const char* given = std::getenv("TOWERFLOW_STRATEGY_FAULTS");
  return given == nullptr ? 8 : static_cast<unsigned>(std::atoi(given));
}

}  // namespace

TEST_CASE("every strategy trains every model to the values of the host's update, repeatably") {
  std::size_t number = 0;
  for (const auto& named : kContractModels) {
    const std::string& model = named.first;
    CAPTURE(model);
    const auto expected = values_of_host(made_for(kStrategies[0], model));
    ++number;
    for (std::size_t i = 0; i < kStrategies.size(); ++i) {
      if (!is_chosen(i, number)) continue;
      const Strategy& strategy = kStrategies[i];
      CAPTURE(std::string(strategy.name));
      const auto found = trained(made_for(strategy, model), accelerators(strategy, 1));
      check_values(found, expected, strategy);
      CHECK(trained(made_for(strategy, model), accelerators(strategy, 2)) == found);
    }
  }
}

TEST_CASE("every strategy applies deferred gradients, repeatably") {
  std::size_t number = 0;
  for (const char* name : {"gan", "lstm", "mnist"}) {
    const std::string model = name;
    CAPTURE(model);
    const ConfigProto cpus{.device_count = {{"CPU", kTowers}}, .allow_soft_placement = true};
    const auto expected = values_of_host(deferred(made_for(kStrategies[0], model)));
    ++number;
    CHECK(expected != trained(made_for(kStrategies[0], model), cpus));
    std::vector<Strategy> strategies = kStrategies;
    strategies.push_back({"on devices", VariableHome::device});
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      if (!is_chosen(i, number)) continue;
      const Strategy& strategy = strategies[i];
      CAPTURE(std::string(strategy.name));
      const auto make = deferred(made_for(strategy, model));
      const auto found = trained(make, accelerators(strategy, 1));
      check_values(found, expected, strategy);
      CHECK(trained(make, accelerators(strategy, 2)) == found);
    }
  }
}

TEST_CASE("a fault at any time leaves each variable before or after the step, and the next works") {
  std::mt19937 random(7);
  for (const Strategy& strategy : kStrategies) {
    const std::string name = strategy.name;
    unsigned in_steps = 0;
    for (unsigned i = 0; in_steps < fault_count() && i < 20 * fault_count(); ++i) {
      const SimulatedFault fault{.device = static_cast<int>(random() % kTowers),
                                 .lane = kLanes[random() % std::size(kLanes)],
                                 .task = static_cast<int>(random() % 60)};
      CAPTURE(name);
      CAPTURE(fault.device);
      CAPTURE(fault.task);
      Graph graph;
      const auto guard = graph.as_default();
      tf::set_random_seed(11);
      const Step step = made_for(strategy, "lstm")();
      const auto variables = tf::global_variables();
      const std::vector<Fetch> all(variables.begin(), variables.end());
      Session session(graph, simulated(strategy, i, fault));
      Session reference(graph, {.allow_soft_placement = true});
      reference.run(tf::global_variables_initializer());
      try {
        session.run(tf::global_variables_initializer());
      } catch (const errors::InternalError&) {
        continue;
      }
      for (int number = 0; number < 3; ++number) {
        const auto before = reference.run(all);
        reference.run(step.fetches, step.feeds);
        const auto after = reference.run(all);
        try {
          session.run(step.fetches, step.feeds);
          continue;
        } catch (const errors::InternalError& error) {
          CHECK(error.message().find("simulated fault") != std::string::npos);
        }
        ++in_steps;
        const auto found = session.run(all);
        for (std::size_t k = 0; k < found.size(); ++k) {
          const bool is_one = largest_difference({found[k]}, {before[k]}) < 1e-6 ||
                              largest_difference({found[k]}, {after[k]}) < 1e-6;
          CHECK(is_one);
        }
        CHECK_NOTHROW(session.run(step.fetches, step.feeds));
        break;
      }
    }
    CHECK(in_steps == fault_count());
  }
}
