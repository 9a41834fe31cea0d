// The models as the commands train, bench and eval use them.
#include <doctest/doctest.h>

#include <set>

#include "models/models.h"
#include "models/training.h"
#include "tests/data/support.h"
#include "tests/support/data_dir.h"
#include "towerflow/tf.h"
#include "train/checkpoint/bundle_reader.h"

using namespace towerflow;
using namespace towerflow::testing;

TEST_CASE("each model of the list is found by its name and says what it is") {
  std::set<std::string> names;
  for (const models::Model* model : models::all()) {
    CAPTURE(model->name);
    CHECK(&models::find(model->name) == model);
    CHECK(names.insert(model->name).second);
    CHECK_FALSE(model->about.empty());
    CHECK(model->learning_rate > 0);
    REQUIRE_FALSE(model->stages.empty());
    int percent = 0;
    for (const models::StageInfo& stage : model->stages) {
      CHECK(stage.end_percent > percent);
      percent = stage.end_percent;
    }
    CHECK(percent == 100);
    Graph graph;
    const auto guard = graph.as_default();
    const models::TrainingGraph built = model->build(
        {.num_towers = 2, .learning_rate = model->learning_rate},
        [&] { return models::BatchFunction([&] { return model->batch_in_memory(4); }); });
    REQUIRE(built.stages.size() == model->stages.size());
    for (const models::StageOps& stage : built.stages) CHECK(stage.losses.size() == 2);
  }
  CHECK_THROWS_WITH_AS(models::find("mnst"), doctest::Contains("mnist"), ValueError);
  CHECK_THROWS_AS(models::option_value(models::mnist::kModel, {}, "depth"), ValueError);
}

TEST_CASE("the stages of the GAN train the generator, the discriminator, then both") {
  const ScratchFolder folder;
  const models::TrainResult result =
      models::train(models::three_stage_gan::kModel,
                    {.data_dir = (test::source_root() / "samples/mnist").string(),
                     .num_towers = 2,
                     .batch_size = 4,
                     .max_steps = 10,
                     .train_dir = (folder / "a").string(),
                     .save_every = 2,
                     .seed = 3},
                    [](const models::StepReport&) { return true; });
  REQUIRE(result.steps == 10);
  const auto changed = [&](int from, int to) {
    std::set<std::string> networks;
    const auto prefix = (folder / "a/model.ckpt-").string();
    const TensorBundleReader before(prefix + std::to_string(from));
    const TensorBundleReader after(prefix + std::to_string(to));
    for (const char* name : {"generator/conv1/weights", "generator/conv2/biases",
                             "discriminator/conv1/weights", "discriminator/fc/weights"}) {
      if (!(before.read(name) == after.read(name))) {
        networks.insert(std::string(name).substr(0, std::string(name).find('/')));
      }
    }
    return networks;
  };
  CHECK(changed(2, 4) == std::set<std::string>{"generator"});
  CHECK(changed(4, 6) == std::set<std::string>{"discriminator"});
  CHECK(changed(6, 8) == std::set<std::string>{"discriminator", "generator"});
}
