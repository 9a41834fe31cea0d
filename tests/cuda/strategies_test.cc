// Towers share variables on emulated GPUs in every way that they can on CPUs and on simulated
// accelerators, with the same losses; several runs of a session may be under way at once.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "models/models.h"
#include "models/update_bench.h"
#include "tests/cuda/long_hold.h"
#include "tests/support/cuda_devices.h"
#include "towerflow/tf.h"

using namespace towerflow;
using models::UpdateBench;
using models::VariableUpdate;

namespace {

std::vector<double> losses_of(VariableUpdate update, models::StepBenchOptions options,
                              int steps = 3) {
  std::vector<double> found;
  const auto bench = UpdateBench::make(update, models::find("mnist"), options);
  for (const models::UpdateStep& step : bench->steps(steps)) found.push_back(step.loss);
  return found;
}

models::StepBenchOptions small(bool gpus, std::uint64_t seed = 0) {
  models::StepBenchOptions options{.num_towers = 2, .batch_size = 4};
  if (gpus)
    options.devices.cuda = testing::cuda_devices(2, seed);
  else
    options.devices.simulated = {.count = 2, .latency = 0};
  return options;
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}

}  // namespace

TEST_SUITE("strategies on emulated GPUs") {
  // Work may be held back for an hour: if queues waited for each other, the test would not end.
  TEST_CASE("towers share variables in every way") {
    const testing::LongHold hold;
    for (const auto update : {VariableUpdate::independent, VariableUpdate::parameter_server,
                              VariableUpdate::replicated}) {
      CAPTURE(static_cast<int>(update));
      const auto expected = losses_of(update, small(false));
      for (const std::uint64_t seed : {0, 1, 2}) {
        CAPTURE(seed);
        check_near(losses_of(update, small(true, seed)), expected);
      }
    }
  }

  TEST_CASE("gradients are applied a step late") {
    const testing::LongHold hold;
    for (const auto update : {VariableUpdate::parameter_server, VariableUpdate::replicated}) {
      models::StepBenchOptions options = small(true, 1), others = small(false);
      options.deferred_gradients = others.deferred_gradients = true;
      check_near(losses_of(update, options, 4), losses_of(update, others, 4));
    }
  }

  TEST_CASE("towers that do not wait for each other train") {
    const auto found = losses_of(VariableUpdate::async, small(true, 2), 6);
    REQUIRE(found.size() == 6);
    CHECK(found.front() < 3);
    CHECK(found.back() < found.front());
  }

  TEST_CASE("runs of several threads change a variable one after another") {
    Graph graph;
    const auto guard = graph.as_default();
    ConfigProto config{.allow_soft_placement = true};
    config.cuda = testing::cuda_devices(2, 3);
    std::vector<Operation> adds;
    tf::Variable sum;
    {
      const auto cpu = tf::device("/cpu:0");
      sum = tf::Variable(tf::zeros({64}), {.name = "sum"});
    }
    for (const char* gpu : {"/gpu:0", "/gpu:1"}) {
      const auto device = tf::device(gpu);
      const Tensor one = tf::reduce_mean(tf::exp(sum - sum), {.keepdims = true});
      const auto cpu = tf::device("/cpu:0");
      adds.push_back(tf::assign_add(sum, tf::ones({64}) * one).op());
    }
    Session session(graph, config);
    session.run(tf::global_variables_initializer());
    constexpr int kRuns = 20;
    std::vector<std::thread> threads;
    std::atomic<int> failures = 0;
    for (const Operation& add : adds) {
      threads.emplace_back([&] {
        try {
          for (int i = 0; i < kRuns; ++i) session.run(add);
        } catch (const std::exception&) {
          ++failures;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(session.run(sum) == Array::of(Shape{64}, std::vector<float>(64, 2.0F * kRuns)));
  }
}
