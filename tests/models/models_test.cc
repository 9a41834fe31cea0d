// The models as the commands train, bench and eval use them.
#include <doctest/doctest.h>

#include <set>

#include "data/cifar10.h"
#include "models/cifar10/cifar10.h"
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

TEST_CASE("the small set of cifar10 is the same each time") {
  const models::DataSet& images = models::cifar10::kImages;
  const ScratchFolder a, b;
  CHECK_THROWS_WITH_AS(images.files_of(a.path(), models::Part::train),
                       doctest::Contains("data_batch_1.bin"), errors::NotFoundError);
  images.make(a.path());
  images.make(b.path());
  for (const auto& [part, count] :
       {std::pair(models::Part::train, 2000), std::pair(models::Part::test, 500)}) {
    const auto files = images.files_of(a.path(), part), again = images.files_of(b.path(), part);
    REQUIRE(files.size() == 1);
    CHECK(images.count(files) == count);
    const auto set = data::read_cifar10_file(files[0]), same = data::read_cifar10_file(again[0]);
    CHECK((set.images == same.images && set.labels == same.labels));
    CHECK(set.labels.data<std::uint8_t>()[count - 1] == 9);
  }
}

TEST_CASE("the rate of cifar10 falls after as many epochs on any number of towers") {
  const auto rate_after = [](int towers, bool published, int steps) {
    Graph graph;
    const auto guard = graph.as_default();
    const auto built = models::cifar10::build_towers(
        {.num_towers = towers, .batch_size = 2, .examples = 8, .published_schedule = published},
        [] { return [] { return models::cifar10::batch_in_memory(2); }; });
    Session session({.allow_soft_placement = true});
    return session.run(built.learning_rate, {{built.global_step, static_cast<float>(steps)}})
        .item<float>();
  };
  CHECK(rate_after(1, false, 1399) == doctest::Approx(0.1));
  CHECK(rate_after(1, false, 1400) == doctest::Approx(0.01));  // 350 epochs of 4 steps
  CHECK(rate_after(2, false, 700) == doctest::Approx(0.01));
  CHECK(rate_after(2, true, 700) == doctest::Approx(0.1));
  CHECK(rate_after(2, true, 1400) == doctest::Approx(0.01));
}
