// Accelerators change when things happen, never a bit of what happens.
//
// TOWERFLOW_DELAY_SEEDS says for how many seeds of random delays the models are trained.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/models/steps.h"

using namespace towerflow;
using testing::kSteps;
using testing::Step;

namespace {

/// What two steps give, and the variables behind them.
std::vector<Array> trained(Step (*make)(), const ConfigProto& config) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(11);
  const Step step = make();
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  auto values = session.run(step.fetches, step.feeds);
  for (const Array& value : session.run(step.fetches, step.feeds)) values.push_back(value);
  const auto variables = tf::global_variables();
  for (const Array& value : session.run(std::vector<Fetch>(variables.begin(), variables.end()))) {
    values.push_back(value);
  }
  return values;
}

unsigned seeds() {
  const char* given = std::getenv("TOWERFLOW_DELAY_SEEDS");
  return given == nullptr ? 1 : static_cast<unsigned>(std::atoi(given));
}

}  // namespace

TEST_CASE("models on accelerators with random delays have the bits of CPUs") {
  for (const auto& model : kSteps) {
    const std::string& name = model.first;
    const auto make = model.second;
    const auto expected =
        trained(make, {.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
    for (const int count : {1, 2, 4}) {
      for (unsigned seed = 1; seed <= seeds(); ++seed) {
        CAPTURE(name);
        CAPTURE(count);
        CAPTURE(seed);
        const ConfigProto config{
            .allow_soft_placement = true,
            .simulated = {.count = count, .latency = 0, .jitter = 200e-6, .jitter_seed = seed}};
        CHECK(trained(make, config) == expected);
      }
    }
  }
}
