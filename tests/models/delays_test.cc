// Accelerators change the timing of a step, but no bit of its results.
//
// TOWERFLOW_DELAY_SEEDS is the number of seeds of random delays with which models are trained.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/models/steps.h"

using namespace towerflow;
using testing::kSteps;
using testing::Step;
using testing::trained;

namespace {

/// Makes variables on the first accelerator, whatever device the model requests.
Variable on_accelerator(const VariableGetter& getter, const std::string& name,
                        const std::optional<Shape>& shape, const GetVariableOptions& options) {
  const auto gpu = tf::device("/gpu:0");
  return getter(name, shape, options);
}

/// Makes the model with its variables stored on the accelerator.
Step make_on_device(Step (*make)()) {
  const auto scope = tf::variable_scope(
      tf::get_variable_scope(), {.custom_getter = on_accelerator, .home = VariableHome::device});
  return make();
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

TEST_CASE("models whose variables live on an accelerator have the bits of CPUs") {
  for (const auto& model : kSteps) {
    const std::string& name = model.first;
    const auto make = [plain = model.second] { return make_on_device(plain); };
    const auto expected =
        trained(make, {.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
    for (const int count : {1, 2}) {
      for (unsigned seed = 1; seed <= seeds(); ++seed) {
        CAPTURE(name);
        CAPTURE(count);
        CAPTURE(seed);
        const ConfigProto config{
            .allow_soft_placement = true,
            .simulated = {.count = count, .latency = 0, .jitter = 200e-6, .jitter_seed = seed}};
        const auto found = trained(make, config, [](Session& session, const Step& step) {
          CHECK(session.device_holdings(step.fetches, step.feeds)[1].variables >= 4);
        });
        CHECK(found == expected);
      }
    }
  }
}

TEST_CASE("models whose variables are mirrored have the bits of CPUs") {
  for (const auto& model : kSteps) {
    const std::string& name = model.first;
    const auto make = [plain = model.second] {
      const auto scope =
          tf::variable_scope(tf::get_variable_scope(), {.home = VariableHome::mirrored});
      return plain();
    };
    const auto expected =
        trained(make, {.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
    for (const AllReduce algorithm : {AllReduce::gather, AllReduce::shuffle, AllReduce::ring}) {
      CAPTURE(name);
      CAPTURE(algorithm);
      const ConfigProto config{.allow_soft_placement = true,
                               .simulated = {.count = 2, .latency = 0, .jitter = 200e-6},
                               .passes = {.all_reduce = {.algorithm = algorithm}}};
      const auto found = trained(make, config, [](Session& session, const Step& step) {
        CHECK(session.device_holdings(step.fetches, step.feeds)[1].variables >= 4);
      });
      CHECK(found == expected);
    }
  }
}
