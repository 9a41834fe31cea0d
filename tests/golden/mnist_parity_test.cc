// Compares ten training steps of models/mnist with TensorFlow's: README.md, "MNIST parity".
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/runtime/session.h"
#include "models/digits.h"
#include "models/mnist.h"
#include "ops/array/placeholder.h"
#include "ops/variables/assign.h"
#include "tests/support/data_dir.h"
#include "tests/support/exact_array.h"

namespace {

using namespace towerflow;
using Json = nlohmann::json;
using towerflow::test::Summary;

constexpr double kLimit = 1e-5;  // of the relative error of each loss and tensor

Json fixture_of(const std::string& name) {
  std::ifstream stream(towerflow::test::source_root() / "tests/golden/mnist" / (name + ".json"));
  REQUIRE(stream.good());
  return Json::parse(stream);
}

Summary summary_of(const Json& json) {
  Summary summary;
  summary.norm = json.at("norm");
  summary.sum = json.at("sum");
  summary.projections = json.at("projections");
  summary.probes = json.at("probes");
  return summary;
}

/// One case: the graph of models/mnist with fed batches, and a session.
class Trainer {
 public:
  explicit Trainer(Json fixture) : fixture_(std::move(fixture)) {
    const auto guard = graph_.as_default();
    const Shape images{batch(), models::kImagePixels};
    towers_ =
        models::mnist::build_towers({.num_towers = count(),
                                     .net = {.relu_logits = fixture_["relu_logits"].get<bool>()},
                                     .learning_rate = fixture_["rate"].get<double>(),
                                     .momentum = fixture_["momentum"].get<double>()},
                                    [&] {
                                      images_.push_back(placeholder(float32, {.shape = images}));
                                      labels_.push_back(placeholder(int32, {.shape = {batch()}}));
                                      return models::Batch{images_.back(), labels_.back()};
                                    });
    session_ = std::make_unique<Session>(
        graph_, ConfigProto{.device_count = {{"CPU", count()}}, .allow_soft_placement = true});
    initialize();
  }

  /// Runs a step and compares everything that the fixture has recorded for it.
  void step(int number) {
    const Json& record = fixture_["steps"][static_cast<std::size_t>(number)];
    const std::vector<Array> got =
        session_->run(std::span<const Fetch>(fetches()), feeds(number, record));
    std::size_t next = 0;
    for (std::size_t t = 0; t < towers_.losses.size(); ++t) {
      const double ours = got[next++].item<float>(), theirs = record["losses"][t];
      record_distance(std::abs(ours - theirs) / std::abs(theirs), number,
                      fmt::format("loss of tower {}", t));
    }
    for (std::size_t t = 0; t < towers_.losses.size(); ++t) {
      for (const GradAndVar& pair : towers_.tower_grads[t]) {
        const Array& gradient = got[next++];
        if (!record.contains("gradients")) continue;
        compare(gradient, record["gradients"][t], pair.var, number,
                fmt::format("gradient of tower {}", t));
      }
    }
    for (const GradAndVar& pair : towers_.grads) {
      compare(got[next++], record["averaged"], pair.var, number, "averaged gradient");
    }
    if (!record.contains("variables")) return;
    for (const GradAndVar& pair : towers_.grads) {
      compare(session_->run(pair.var), record["variables"], pair.var, number, "variable");
      compare(session_->run(slot_of(pair.var)), record["slots"], pair.var, number, "slot");
    }
  }

  double worst() const { return worst_; }
  const std::string& worst_place() const { return worst_place_; }
  int compared() const { return compared_; }
  float global_step() { return session_->run(towers_.global_step).item<float>(); }

 private:
  int count() const { return fixture_["towers"].get<int>(); }
  std::int64_t batch() const { return fixture_["batch"].get<std::int64_t>(); }
  std::uint64_t base() const { return 1000000 * fixture_["seed"].get<std::uint64_t>(); }

  void initialize() {
    session_->run(towers_.init);
    std::uint64_t stream = base();
    REQUIRE(fixture_["variables"].size() == towers_.grads.size());
    for (std::size_t i = 0; i < towers_.grads.size(); ++i, ++stream) {
      const Json& row = fixture_["variables"][i];
      const Variable& variable = towers_.grads[i].var;
      REQUIRE(variable.op().name() == row["name"].get<std::string>());
      REQUIRE(variable.shape().sizes() == row["shape"].get<std::vector<std::int64_t>>());
      const Array value = towerflow::test::exact_array(
          stream, variable.shape(),
          {.exponent = row["exponent"].get<int>(),
           .kind = row["kind"] == "positive" ? towerflow::test::ExactKind::positive
                                             : towerflow::test::ExactKind::uniform});
      const Summary theirs = summary_of(fixture_["initial"][variable.op().name()]);
      REQUIRE(towerflow::test::distance(towerflow::test::summarize(value), theirs) < 1e-8);
      session_->run(variable.initializer(), {{variable.initial_value(), value}});
    }
  }

  std::vector<Fetch> fetches() const {
    std::vector<Fetch> list(towers_.losses.begin(), towers_.losses.end());
    for (const auto& pairs : towers_.tower_grads) {
      for (const GradAndVar& pair : pairs) list.emplace_back(pair.grad->dense());
    }
    for (const GradAndVar& pair : towers_.grads) list.emplace_back(pair.grad->dense());
    list.emplace_back(towers_.train_op);
    return list;
  }

  Feeds feeds(int number, const Json& record) const {
    Feeds list;
    for (std::size_t t = 0; t < images_.size(); ++t) {
      const std::uint64_t place =
          base() + 1000 * static_cast<std::uint64_t>(number) + 100 * static_cast<std::uint64_t>(t);
      const auto variant = record["variants"][t].get<std::uint64_t>();
      const Array images = towerflow::test::exact_array(
          place + 100000 + variant, {batch(), models::kImagePixels}, {.exponent = -1});
      const Array labels = towerflow::test::exact_integers(place + 500000, {batch()}, 10, int32);
      const auto flat = labels.flat<std::int32_t>();
      REQUIRE(std::vector<int>(flat.begin(), flat.end()) ==
              record["labels"][t].get<std::vector<int>>());
      list.emplace_back(images_[t], images);
      list.emplace_back(labels_[t], labels);
    }
    return list;
  }

  Variable slot_of(const Variable& variable) const {
    const std::string name = variable.op().name() + "/Momentum:0";
    const auto guard = const_cast<Graph&>(graph_).as_default();
    for (const Variable& candidate : global_variables()) {
      if (candidate.name() == name) return candidate;
    }
    FAIL("no slot ", name);
    return {};
  }

  void compare(const Array& ours, const Json& theirs, const Variable& variable, int number,
               const std::string& what) {
    const std::string& name = variable.op().name();
    record_distance(
        towerflow::test::distance(towerflow::test::summarize(ours), summary_of(theirs.at(name))),
        number, fmt::format("{} of {}", what, name));
  }

  void record_distance(double distance, int number, const std::string& what) {
    ++compared_;
    CHECK_MESSAGE(distance <= kLimit, fixture_["case"].get<std::string>(), ", step ", number, ", ",
                  what, ": relative distance ", distance);
    if (distance <= worst_) return;
    worst_ = distance;
    worst_place_ = fmt::format("{} at step {}", what, number);
  }

  Json fixture_;
  Graph graph_;
  models::mnist::Towers towers_;
  std::vector<Tensor> images_, labels_;
  std::unique_ptr<Session> session_;
  double worst_ = 0;
  std::string worst_place_;
  int compared_ = 0;
};

void check_case(const std::string& name, int compared) {
  const Json fixture = fixture_of(name);
  Trainer trainer(fixture);
  const auto steps = static_cast<int>(fixture["steps"].size());
  for (int step = 0; step < steps; ++step) trainer.step(step);
  CHECK(steps == 10);
  CHECK(trainer.global_step() == 10);
  CHECK(trainer.compared() == compared);
  MESSAGE(name, ": worst relative distance ", trainer.worst(), ", ", trainer.worst_place());
}

// Number of compared tensors: in each step a loss per tower and 10 averages; in each fully recorded
// step also 10 gradients per tower, 10 variables and 10 slots.
TEST_CASE("one tower") { check_case("towers_1", 10 * (1 + 10 + 10 + 20)); }
TEST_CASE("two towers") { check_case("towers_2", 10 * (2 + 10 + 20 + 20)); }
TEST_CASE("three towers") { check_case("towers_3", 10 * (3 + 10 + 30 + 20)); }
TEST_CASE("one tower, ReLU on local4") { check_case("relu_1", 10 * (1 + 10) + 3 * (10 + 20)); }
TEST_CASE("two towers, ReLU on local4") { check_case("relu_2", 10 * (2 + 10) + 3 * (20 + 20)); }
TEST_CASE("three towers, ReLU on local4") { check_case("relu_3", 10 * (3 + 10) + 3 * (30 + 20)); }

}  // namespace
