// Models with the same towers on 1, 2, 4 and 8 devices: equal to the bit.
#include <doctest/doctest.h>

#include "models/global_step.h"
#include "models/models.h"

using namespace towerflow;

namespace {

Comparison eight_towers(const models::Model& model, const models::OptionValues& values,
                        const models::DeviceOptions& devices) {
  const models::GlobalStepOptions on_one{
      .num_towers = 8, .batch_size = 16, .values = values, .devices = {.cpus = 1}};
  models::GlobalStepOptions on_several = on_one;
  on_several.devices = devices;
  models::GlobalStep a(model, on_one), b(model, on_several);
  return compare(a.run(), b.run(), {.steps = 2});
}

}  // namespace

TEST_CASE("eight towers of MNIST and of ResNet-8: the same bits on 1, 2, 4 and 8 devices") {
  for (const int devices : {2, 4, 8}) {
    for (const bool simulated : {false, true}) {
      CAPTURE(devices);
      CAPTURE(simulated);
      models::DeviceOptions on;
      if (simulated) {
        on.simulated = {.count = devices, .latency = 0};
      } else {
        on.cpus = devices;
      }
      const Comparison digits =
          eight_towers(models::mnist::kModel, {{"kernel", std::int64_t{3}}}, on);
      CAPTURE(digits.text());
      CHECK(digits.equal());
      CHECK(digits.losses == 8);
      const Comparison images =
          eight_towers(models::resnet20::kModel,
                       {{"depth", std::int64_t{8}}, {"update-ops", std::string("all")}}, on);
      CAPTURE(images.text());
      CHECK(images.equal());
      CHECK(images.variables > 50);
    }
  }
}

TEST_CASE("ResNet-8 on two towers: batch normalization differs, weight decay does not") {
  const auto measure = [](const models::Model& model, const models::OptionValues& values) {
    models::GlobalStep one(model, {.num_towers = 1, .batch_size = 8, .values = values});
    models::GlobalStep two(model, {.num_towers = 2, .batch_size = 8, .values = values});
    return equivalence(one.equivalence_run(), two.equivalence_run());
  };
  const Equivalence resnet = measure(models::resnet20::kModel, {{"depth", std::int64_t{8}}});
  CAPTURE(resnet.text());
  REQUIRE(resnet.terms.size() == 2);
  CHECK(resnet.terms[0].difference > 0.01);
  REQUIRE(resnet.terms[0].causes.size() == 1);
  CHECK(resnet.terms[0].causes[0].what == "batch normalization");
  CHECK(resnet.terms[0].causes[0].count == 7);
  CHECK(resnet.terms[0].causes[0].left < 1e-3);
  CHECK(resnet.terms[1].equal());  // weight decay
}
