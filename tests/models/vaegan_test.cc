#include "models/vaegan/vaegan.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "models/models.h"
#include "models/training.h"
#include "ops/image/png_codec.h"
#include "tests/data/support.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
namespace vaegan = models::vaegan;

const models::InputFunction kNoise = [] { return [] { return vaegan::batch_in_memory(2); }; };
const vaegan::Sizes kLeast{
    .hidden_size = 3, .encoder = {2}, .generator = {2}, .discriminator = {2}, .features = 4};

/// Returns the number of elements of variables, by the first part of their names.
std::map<std::string, std::int64_t> counts(const std::vector<Variable>& variables) {
  std::map<std::string, std::int64_t> count;
  for (const Variable& variable : variables) {
    const std::string name = variable.op().name();
    count[name.substr(0, name.find('/'))] += variable.shape().elements();
  }
  return count;
}

TEST_CASE("the published VAE-GAN has 123.6 million parameters") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto input = [] {
    return [] {
      const Tensor x = tf::placeholder(tf::float32, {.shape = Shape{32, 64 * 64 * 3}});
      return models::Batch{x, x};
    };
  };
  vaegan::build_towers({.sizes = vaegan::full_sizes()}, input);
  CHECK(
      counts(tf::trainable_variables()) ==
      std::map<std::string, std::int64_t>{{"dis", 19343681}, {"enc", 68143104}, {"gen", 36132169}});
}

TEST_CASE("a step counts once, or three times if its updates are unordered") {
  for (const bool unordered : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    const auto towers =
        vaegan::build_towers({.num_towers = 2, .sizes = kLeast, .unordered = unordered}, kNoise);
    Session session({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    session.run(towers.train_op);
    CHECK(session.run(towers.global_step).item<float>() == (unordered ? 3 : 1));
  }
}

TEST_CASE("a training counts steps, not what global_step counts") {
  const testing::ScratchFolder folder;
  vaegan::kImages.make(folder.path().string());
  models::TrainOptions options{.data_dir = folder.path().string(),
                               .batch_size = 2,
                               .max_steps = 3,
                               .train_dir = (folder / "run").string(),
                               .save_every = 2,
                               .seed = 1,
                               .values = {{"unordered", true}}};
  std::vector<std::int64_t> steps;
  const auto train = [&] {
    return models::train(vaegan::kModel, options, [&](const models::StepReport& report) {
      CHECK(report.steps == options.max_steps);
      steps.push_back(report.step);
      return true;
    });
  };
  const models::TrainResult first = train();
  CHECK(first.steps == 3);
  CHECK(first.global_step == 9);
  CHECK(first.checkpoint.ends_with("model.ckpt-9"));
  CHECK(std::filesystem::exists(folder / "run/model.ckpt-6.index"));
  options.max_steps = 5;
  const models::TrainResult second = train();
  CHECK(second.first_step == 3);
  CHECK(second.steps == 5);
  CHECK(steps == std::vector<std::int64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("KL and LL are sums over the batch, or means") {
  std::map<bool, std::pair<float, float>> losses;
  for (const bool means : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    const auto towers = vaegan::build_towers({.sizes = kLeast, .mean_losses = means}, kNoise);
    Session session({.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    const auto [kl, ll] = session.run({towers.towers[0].losses.kl, towers.towers[0].losses.ll});
    losses[means] = {kl.item<float>(), ll.item<float>()};
  }
  CHECK(losses[false].first > 0);
  CHECK(losses[false].second > 0);
  CHECK(losses[true].first == doctest::Approx(losses[false].first / 2));
  CHECK(losses[true].second == doctest::Approx(losses[false].second / 2));
}

TEST_CASE("the losses are clipped, or minimized as they are") {
  for (const bool unclipped : {false, true}) {
    Graph graph;
    const auto guard = graph.as_default();
    const auto built = vaegan::build_towers({.sizes = kLeast, .unclipped = unclipped}, kNoise);
    const vaegan::Tower& tower = built.towers[0];
    CHECK((tower.l_d.name() == tower.losses.d.name()) == unclipped);
    for (const Tensor& minimized : {tower.l_e, tower.l_g}) {
      CHECK((minimized.op().type() == "Add" || minimized.op().type() == "AddV2") == unclipped);
    }
  }
}

TEST_CASE("in the root scope left in reuse mode, strict Adam optimizers find no slots") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_WITH_AS(vaegan::build_towers({.sizes = kLeast, .leave_reuse_on = true}, kNoise),
                       doctest::Contains("weights/Adam/ does not exist"), ValueError);
}

TEST_CASE("the three lists of variables by a part of their names are those of the scopes") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto towers = vaegan::build_towers({.sizes = kLeast}, kNoise);
  std::size_t all = 0;
  for (const char* scope : {"enc/", "gen/", "dis/"}) {
    all += tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, scope).size();
    const std::string part = std::string(scope).substr(0, 3);
    for (const Variable& variable : tf::trainable_variables()) {
      const std::string name = variable.name();
      CHECK((name.find(part) != std::string::npos) == name.starts_with(scope));
    }
  }
  CHECK(all == tf::trainable_variables().size());
  CHECK(towers.grads.size() == all);
}

TEST_CASE("the rates of a step follow the discriminator's means in the step before") {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(1);
  const auto towers = vaegan::build_towers({.learning_rate = 2.0, .sizes = kLeast}, kNoise);
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  const auto rate = [](double mean) { return 2.0 / (1.0 + std::exp(-15.0 * (mean - 0.5))); };
  const auto is_rate = [&](const Tensor& lr, double mean) {
    CHECK(session.run(lr).item<float>() == doctest::Approx(rate(mean)));
  };
  for (const Tensor& lr : {towers.lr_e, towers.lr_g, towers.lr_d}) is_rate(lr, 0);
  session.run(towers.train_op);
  std::map<std::string, double> means;
  for (const Variable& variable : tf::global_variables()) {
    const std::string name = variable.op().name();
    if (name.starts_with("d_")) means[name] = session.run(variable).item<float>();
  }
  CHECK(means.at("d_real") > 0.1);
  is_rate(towers.lr_e, means.at("d_real"));
  is_rate(towers.lr_g, means.at("d_real"));
  is_rate(towers.lr_d, means.at("d_fake"));
}

TEST_CASE("each pass has averages of its own, unless they are unordered") {
  const auto averages = [](bool unordered) {
    Graph graph;
    const auto guard = graph.as_default();
    vaegan::build_towers({.num_towers = 2, .sizes = kLeast, .unordered = unordered}, kNoise);
    std::map<std::string, int> count;
    for (const Variable& variable : tf::global_variables()) {
      const std::string name = variable.op().name();
      if (name.ends_with("/moving_mean")) ++count[name.substr(0, 3)];
    }
    return count;
  };
  // One convolution in the encoder and the discriminator, two in the generator.
  CHECK(averages(false) == std::map<std::string, int>{{"enc", 1}, {"gen", 4}, {"dis", 3}});
  CHECK(averages(true) == std::map<std::string, int>{{"enc", 1}, {"gen", 2}, {"dis", 1}});
}

TEST_CASE("vaegan takes CIFAR-10's files before pictures, and says how many pictures are too few") {
  const testing::ScratchFolder folder;
  const std::string path = folder.path().string();
  testing::write_raw(folder / "stray.png", "a picture");
  CHECK_THROWS_WITH_AS(vaegan::kImages.files_of(path, models::Part::train),
                       doctest::Contains("has 1 picture, at least 10 are needed"), Error);
  testing::write_raw(folder / "stray.jpg", "a picture");
  CHECK_THROWS_WITH_AS(vaegan::kImages.files_of(path, models::Part::train),
                       doctest::Contains("has 2 pictures, at least 10"), Error);
  testing::write_raw(folder / "test_batch.bin", "");
  CHECK(vaegan::kImages.files_of(path, models::Part::test) ==
        std::vector<std::string>{(folder / "test_batch.bin").string()});
}

TEST_CASE("vaegan reads a folder of pictures: every tenth is for tests, squares are resized") {
  const testing::ScratchFolder folder;
  std::filesystem::create_directory(folder / "below");
  // Wide pictures: a grey middle between black sides.
  for (int i = 0; i < 10; ++i) {
    std::string pixels;
    for (int at = 0; at < 80 * 120 * 3; ++at) {
      const int x = at / 3 % 120;
      pixels += static_cast<char>(x < 20 || x >= 100 ? 0 : 51);
    }
    const std::string png = image::encode_png_bytes(pixels.data(), {80, 120, 3}, 8, 6);
    testing::write_raw(folder / ((i % 2 == 0 ? "below/" : "") + std::to_string(i) + ".PNG"), png);
  }
  testing::write_raw(folder / "notes.txt", "no picture");
  const auto train = vaegan::kImages.files_of(folder.path().string(), models::Part::train);
  const auto test = vaegan::kImages.files_of(folder.path().string(), models::Part::test);
  CHECK(train.size() == 9);
  REQUIRE(test.size() == 1);
  CHECK(vaegan::are_pictures(train));
  CHECK(vaegan::kImages.count(train) == 9);

  Graph graph;
  const auto guard = graph.as_default();
  const models::Batch batch = vaegan::inputs(test, 4);
  Session session(graph);
  session.run(tf::local_variables_initializer());
  tf::train::Coordinator coordinator;
  const auto threads = tf::train::start_queue_runners(session, {.coord = &coordinator});
  const Array images = session.run(batch.features);
  CHECK(images.shape() == Shape{1, 64 * 64 * 3});
  for (const float value : images.flat<float>()) CHECK(value == doctest::Approx(0.2));
  coordinator.request_stop();
  coordinator.join(threads);
}

}  // namespace
