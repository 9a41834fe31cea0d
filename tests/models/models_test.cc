// The models as the commands train, bench and eval use them.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "data/cifar10.h"
#include "models/char_lstm/char_lstm.h"
#include "models/cifar10/cifar10.h"
#include "models/digits.h"
#include "models/models.h"
#include "models/step_bench.h"
#include "models/three_stage_gan/three_stage_gan.h"
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

TEST_CASE("each option of a model is taken by trainings, or its text says that it is for bench") {
  for (const models::Model* model : models::all()) {
    for (const models::ModelOption& option : model->options) {
      CAPTURE(model->name);
      CAPTURE(option.name);
      const bool says_bench = option.about.find("for `bench`") != std::string::npos;
      CHECK(option.taken_by_training() != says_bench);
    }
  }
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
    for (const char* name : {"generator/conv1/kernel", "generator/image/bias",
                             "discriminator/conv1/kernel", "discriminator/fc/kernel"}) {
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

TEST_CASE("each image of the GAN has one hole, in the middle or anywhere") {
  namespace gan = models::three_stage_gan;
  for (const bool random : {false, true}) {
    CAPTURE(random);
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(3);
    const auto [images, mask] = gan::holed_digits(models::batch_in_memory(64), random);
    const Array holes = Session(graph).run(tf::reduce_sum(1.0 - mask, {1, 2, 3}));
    CHECK(holes.elements() == (random ? 64 : 1));
    for (const float pixels : holes.flat<float>()) CHECK(pixels == 144);
    const Array rows = Session(graph).run(tf::argmin(tf::reduce_min(mask, {2, 3}), 1));
    const auto starts = rows.flat<std::int64_t>();
    CHECK(std::set<std::int64_t>(starts.begin(), starts.end()).size() > (random ? 8 : 0));
    if (!random) CHECK(starts[0] == 8);
  }
}

TEST_CASE("options give stages a number of steps; the others share what is left") {
  using models::ends_of_stages;
  const models::Model& gan = models::three_stage_gan::kModel;
  using Ends = std::vector<std::int64_t>;
  const auto values = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return models::OptionValues{
        {"generator-steps", x}, {"discriminator-steps", y}, {"full-steps", z}};
  };
  CHECK(ends_of_stages(gan, {}, 100) == Ends{40, 60, 100});
  CHECK(ends_of_stages(gan, {}, 7) == Ends{2, 4, 7});
  CHECK(ends_of_stages(gan, values(10, 0, 0), 70) == Ends{10, 30, 70});
  CHECK(ends_of_stages(gan, values(0, 10, 0), 90) == Ends{40, 50, 90});
  CHECK(ends_of_stages(gan, values(5, 6, 7), 18) == Ends{5, 11, 18});
  CHECK(ends_of_stages(gan, values(50, 60, 70), 80) == Ends{50, 80, 80});
  CHECK(ends_of_stages(models::mnist::kModel, {}, 10) == Ends{6, 10});
  CHECK_FALSE(models::steps_of_stages(gan, values(5, 6, 0)));
  CHECK(models::steps_of_stages(gan, values(5, 6, 7)) == 18);
  CHECK_FALSE(models::steps_of_stages(models::mnist::kModel, {}));
  const auto result = models::train(
      gan,
      {.data_dir = (test::source_root() / "samples/mnist").string(),
       .batch_size = 2,
       .values = values(1, 2, 1)},
      [&](const models::StepReport& report) {
        CHECK(report.steps == 4);
        CHECK(report.stage ==
              std::vector<std::string>{"generator", "discriminator", "discriminator", "both"}.at(
                  static_cast<std::size_t>(report.step)));
        return true;
      });
  CHECK(result.steps == 4);
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

TEST_CASE("a benchmark on files reads with as many threads as a training") {
  const ScratchFolder folder;
  const models::Model& model = models::cifar10::kModel;
  model.data->make(folder.path().string());
  models::StepBench bench(model, {.data_dir = folder.path().string(), .batch_size = 4});
  const auto guard = bench.session().graph().as_default();
  std::size_t most = 0;
  for (const auto& runner : tf::get_collection<tf::train::QueueRunner>(GraphKeys::QUEUE_RUNNERS)) {
    most = std::max(most, runner.enqueue_ops().size());
  }
  CHECK(most == static_cast<std::size_t>(model.reader_threads));
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

TEST_CASE("the rate of mnist falls after 60 % of the steps, or stays") {
  const models::Model& mnist = models::mnist::kModel;
  const auto losses = [&](bool constant) {
    std::vector<double> of_steps;
    models::train(mnist,
                  {.data_dir = (test::source_root() / "samples/mnist").string(),
                   .batch_size = 4,
                   .max_steps = 5,
                   .seed = 1,
                   .reader_threads = 1,
                   .values = {{"constant-rate", constant}}},
                  [&](const models::StepReport& report) {
                    of_steps.push_back(report.loss);
                    return true;
                  });
    return of_steps;
  };
  const std::vector<double> falling = losses(false), constant = losses(true);
  REQUIRE(falling.size() == 5);
  REQUIRE(constant.size() == 5);
  // The step after the first one with another rate is the first with other variables.
  for (std::size_t step = 0; step < 4; ++step) CHECK(falling[step] == constant[step]);
  CHECK(falling[4] != constant[4]);
}

TEST_CASE("the moving averages of cifar10 wait for the update if they are ordered") {
  for (const bool ordered : {false, true}) {
    CAPTURE(ordered);
    Graph graph;
    const auto guard = graph.as_default();
    const auto built = models::cifar10::build_towers(
        {.num_towers = 2, .batch_size = 2, .ordered_averages = ordered},
        [] { return [] { return models::cifar10::batch_in_memory(2); }; });
    int waiting = 0;
    for (const Operation& op : graph.get_operations()) {
      const auto before = op.control_inputs();
      const bool waits = std::any_of(before.begin(), before.end(), [](const auto& input) {
        return input.name() == "GradientDescent";
      });
      if (waits && op.name().find("ExponentialMovingAverage") != std::string::npos) ++waiting;
    }
    CHECK((waiting > 0) == ordered);
    Session session({.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    session.run(built.train_op);
    const auto value = [&](const char* name) {
      const Array values = session.run(graph.get_tensor_by_name(name));
      return values.flat<float>()[0];
    };
    const float bias = value("softmax_linear/biases:0");  // it was 0
    REQUIRE(bias != 0);
    // The decay of step 1 is 2 / 11.
    CHECK(value("softmax_linear/biases/ExponentialMovingAverage:0") ==
          doctest::Approx(9.0 / 11 * bias));
  }
}

TEST_CASE("the tags of cifar10's summaries have a tower's name unless they are plain") {
  for (const bool plain : {false, true}) {
    CAPTURE(plain);
    Graph graph;
    const auto guard = graph.as_default();
    const auto built = models::cifar10::build_towers(
        {.num_towers = 2, .batch_size = 2, .plain_tags = plain},
        [] { return [] { return models::cifar10::batch_in_memory(2); }; });
    Session session({.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    const Array written = session.run(tf::summary::merge(built.summaries));
    std::set<std::string> tags;
    for (const auto& value : tf::summary::parse_summary(written.item<std::string>())) {
      CHECK(value.tag.starts_with("tower_1/") != plain);
      tags.insert(value.tag);
    }
    CHECK(tags.size() == 14);  // two of each of five layers, and of four losses
    CHECK(tags.contains("conv1/conv1/sparsity") == plain);
    CHECK(tags.contains("total_loss_1") == plain);
  }
}

TEST_CASE("the program of cifar10 for one device has no queue of batches") {
  const ScratchFolder folder;
  const models::Model& cifar10 = models::cifar10::kModel;
  cifar10.data->make(folder.path());
  for (const bool one_device : {false, true}) {
    CAPTURE(one_device);
    Graph graph;
    const auto guard = graph.as_default();
    cifar10.input({.files = cifar10.data->files_of(folder.path(), models::Part::train),
                   .examples = 2000,
                   .values = {{"one-device", one_device}}})();
    bool has_queue = false;
    for (const Operation& op : graph.get_operations()) {
      has_queue = has_queue || op.name().find("prefetch_queue") != std::string::npos;
    }
    CHECK(has_queue != one_device);
  }
}

TEST_CASE("the classes of characters are those of the part for training, by frequency") {
  const models::char_lstm::Vocabulary vocabulary("banana\n");
  CHECK(vocabulary.classes() == 5);  // and one for all that the text does not have
  const auto* codes = vocabulary.codes().data<std::int32_t>();
  CHECK(codes[u8'a'] == 0);
  CHECK(codes[u8'n'] == 1);
  CHECK(codes[u8'\n'] == 2);  // as often as b
  CHECK(codes[u8'b'] == 3);
  CHECK(codes[u8'c'] == 4);
  CHECK(codes[255] == 4);
}

TEST_CASE("each character that is held out is a target once") {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 32000; ++i) text += static_cast<char>('a' + (i * i / 7 + i % 5) % 26);
  text[31990] = '!';
  write_raw(folder / "novel.txt", text);
  const models::DataSet& set = models::char_lstm::kText;
  const auto files = set.files_of(folder.path(), models::Part::test);
  REQUIRE(files == set.files_of(folder.path(), models::Part::train));
  CHECK(set.count(files) == 575);  // of 50, and the character after each, in 28800
  Graph graph;
  const auto guard = graph.as_default();
  const models::Batch batch = models::char_lstm::test_inputs(files, 3);
  CHECK(models::char_lstm::classes_of_input() == 27);
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(tf::local_variables_initializer());
  tf::train::Coordinator coord;
  const auto threads = tf::train::start_queue_runners(session, {.coord = &coord});
  const auto read = session.run({batch.features, batch.labels});
  REQUIRE(read[1].shape() == Shape({3, 1000}));
  std::map<std::int32_t, char> letters;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t place = 28800 + static_cast<std::size_t>(i);
    const std::int32_t target = read[1].data<std::int32_t>()[i];
    CHECK(letters.emplace(target, text[place]).first->second == text[place]);
    if (i > 0 && i % 1000 != 0) {
      CHECK(read[0].data<std::int32_t>()[i] == read[1].data<std::int32_t>()[i - 1]);
    }
  }
  const auto rest = session.run({batch.features, batch.labels});
  REQUIRE(rest[1].shape() == Shape({1, 1000}));
  const auto* targets = rest[1].data<std::int32_t>();
  CHECK(targets[190] == 26);  // the one that the part for training does not have
  CHECK(targets[199] >= 0);
  CHECK(std::count(targets + 200, targets + 1000, -1) == 800);
  CHECK_THROWS_AS(session.run(batch.labels), errors::OutOfRangeError);
  coord.request_stop();
  coord.join(threads);
}
