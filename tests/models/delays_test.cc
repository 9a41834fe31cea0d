// Accelerators change when things happen, never a bit of what happens.
//
// TOWERFLOW_DELAY_SEEDS says for how many seeds of random delays the models are trained.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/models/steps.h"

using namespace towerflow;
using testing::kSteps;
using testing::trained;

namespace {

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
