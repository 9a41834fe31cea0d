// Compares the models with TensorFlow's programs in systems/: their graphs, and ten steps of
// training from the same values and batches.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "models/cifar10/cifar10.h"
#include "models/summaries.h"
#include "tests/golden/graph_check.h"
#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"
#include "tests/support/exact_array.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
using golden::Json;
using towerflow::test::Summary;

constexpr double kLimit = 1e-4;  // of the relative error of losses and variables

/// What a curve needs of a model's training graph.
struct Training {
  std::vector<Tensor> losses;
  Operation train_op;
};

/// Builds a model on towers of batches of `batch_size`; with its own input if `input` is null.
using Build = Training (*)(int towers, std::int64_t batch_size, const models::InputFunction& input);

Training build_cifar10(int towers, std::int64_t batch_size, const models::InputFunction& input) {
  namespace cifar10 = models::cifar10;
  const auto own = [&] {
    return cifar10::distorted_inputs({.files = {"data_batch_1.bin"},
                                      .examples = 50000,
                                      .batch_size = batch_size,
                                      .num_towers = towers,
                                      .num_threads = 16});
  };
  const auto built = cifar10::build_towers({.num_towers = towers, .batch_size = batch_size},
                                           input ? input : models::InputFunction(own));
  models::merged_summaries(built.summaries, built.grads, {.learning_rate = built.learning_rate});
  return {built.losses, built.train_op};
}

std::string path_of(const std::string& name) {
  return (towerflow::test::source_root() / "tests/golden/systems" / name).string();
}

void check_graphs(const std::string& name, std::int64_t batch_size, Build build) {
  const auto programs = golden::read_program_file(path_of(name + ".graph.json.gz"));
  REQUIRE_FALSE(programs.empty());
  for (const Json& program : programs) {
    const std::string towers = program["name"];
    CAPTURE(towers);
    Graph graph;
    const auto guard = graph.as_default();
    build(towers.back() - '0', batch_size, nullptr);
    golden::check_graph(graph, program);
  }
}

Summary summary_of(const Json& json) {
  Summary summary;
  summary.norm = json.at("norm");
  summary.sum = json.at("sum");
  summary.projections = json.at("projections");
  summary.probes = json.at("probes");
  return summary;
}

/// A model that is trained along a curve.
class Curve {
 public:
  Curve(const Json& record, Build build) : record_(record) {
    const auto guard = graph_.as_default();
    std::vector<std::int64_t> image{batch()};
    for (const Json& size : record_["image"]) image.push_back(size.get<std::int64_t>());
    training_ = build(towers(), batch(), [&] {
      return [&] {
        images_.push_back(tf::placeholder(tf::float32, {.shape = Shape(image)}));
        labels_.push_back(tf::placeholder(tf::int32, {.shape = Shape{batch()}}));
        return models::Batch{images_.back(), labels_.back()};
      };
    });
    session_ = std::make_unique<Session>(
        graph_, ConfigProto{.device_count = {{"CPU", towers()}}, .allow_soft_placement = true});
    session_->run(tf::global_variables_initializer());
    start();
  }

  void train() {
    for (std::size_t step = 0; step < record_["losses"].size(); ++step) {
      std::vector<Fetch> fetches(training_.losses.begin(), training_.losses.end());
      fetches.emplace_back(training_.train_op);
      const auto got = session_->run(fetches, feeds(step));
      for (std::size_t tower = 0; tower < training_.losses.size(); ++tower) {
        const double ours = got[tower].item<float>(), theirs = record_["losses"][step][tower];
        note(std::abs(ours - theirs) / std::abs(theirs),
             fmt::format("loss of tower {} at step {}", tower, step));
      }
    }
    const auto guard = graph_.as_default();
    for (const Variable& variable : tf::global_variables()) {
      CAPTURE(variable.op().name());
      REQUIRE(record_["ends"].contains(variable.op().name()));
      note(distance(session_->run(variable), record_["ends"][variable.op().name()]),
           variable.op().name());
    }
  }

  double worst() const { return worst_; }
  const std::string& worst_place() const { return worst_place_; }

 private:
  int towers() const { return record_["towers"].get<int>(); }
  std::int64_t batch() const { return record_["batch"].get<std::int64_t>(); }

  static double distance(const Array& ours, const Json& theirs) {
    return towerflow::test::distance(towerflow::test::summarize(ours), summary_of(theirs));
  }

  /// Assigns the generated values to the variables and to their averages.
  void start() {
    const auto trained = tf::trainable_variables();
    REQUIRE(trained.size() == record_["variables"].size());
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const Json& row = record_["variables"][i];
      const std::string name = trained[i].op().name();
      REQUIRE(name == row["name"].get<std::string>());
      const Array value = towerflow::test::exact_array(i, trained[i].shape(),
                                                       {.exponent = row["exponent"].get<int>()});
      REQUIRE(distance(value, row["initial"]) < 1e-8);
      assign(trained[i], value);
      for (const Variable& shadow : tf::global_variables()) {
        if (shadow.op().name() == name + "/ExponentialMovingAverage") assign(shadow, value);
      }
    }
  }

  void assign(const Variable& variable, const Array& value) {
    session_->run(variable.initializer(), {{variable.initial_value(), value}});
  }

  Feeds feeds(std::size_t step) const {
    Feeds list;
    for (std::size_t tower = 0; tower < images_.size(); ++tower) {
      const std::uint64_t place = 1000000 + 1000 * step + 100 * tower;
      list.emplace_back(images_[tower], towerflow::test::exact_array(place, images_[tower].shape(),
                                                                     {.exponent = 1}));
      list.emplace_back(labels_[tower], towerflow::test::exact_integers(place + 1, {batch()},
                                                                        record_["classes"], int32));
    }
    return list;
  }

  void note(double distance, const std::string& what) {
    CHECK_MESSAGE(distance <= kLimit, what, ": relative distance ", distance);
    if (distance <= worst_) return;
    worst_ = distance;
    worst_place_ = what;
  }

  Json record_;
  Graph graph_;
  Training training_;
  std::vector<Tensor> images_, labels_;
  std::unique_ptr<Session> session_;
  double worst_ = 0;
  std::string worst_place_;
};

void check_curves(const std::string& name, Build build) {
  const Json file = Json::parse(golden::unpacked_text(path_of(name + ".curves.json")));
  REQUIRE_FALSE(file["curves"].empty());
  for (const Json& record : file["curves"]) {
    CAPTURE(record["towers"].get<int>());
    CHECK(record["losses"].size() == 10);
    Curve curve(record, build);
    curve.train();
    MESSAGE(name, " on ", record["towers"].get<int>(), " towers: worst relative distance ",
            curve.worst(), ", ", curve.worst_place());
  }
}

TEST_CASE("the graph of cifar10 is the tutorial's") { check_graphs("cifar10", 128, build_cifar10); }
TEST_CASE("ten steps of cifar10") { check_curves("cifar10", build_cifar10); }

}  // namespace
