#include "tests/golden/system_curve.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/golden/graph_check.h"
#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"
#include "tests/support/exact_array.h"
#include "towerflow/tf.h"

namespace towerflow::golden {
namespace {

using test::Summary;

constexpr double kLimit = 1e-4;  // of the relative error of losses and variables

std::string path_of(const std::string& name) {
  return (test::source_root() / "tests/golden/systems" / name).string();
}

/// Returns the distance from a recorded summary, which may have fewer projections. Of an integer, a
/// count of steps, it is 0 or infinity.
double distance(const Array& ours, const Json& theirs) {
  if (ours.dtype() == int64) {
    const auto number = static_cast<double>(ours.item<std::int64_t>());
    return number == theirs.at("norm") ? 0 : std::numeric_limits<double>::infinity();
  }
  Summary mine = test::summarize(ours), recorded;
  recorded.norm = theirs.at("norm");
  const Json& projections = theirs.at("projections");
  for (std::size_t k = 0; k < Summary::kProjections; ++k) {
    const std::size_t from = k % projections.size();  // those there are, again and again
    recorded.projections[k] = projections[from];
    mine.projections[k] = mine.projections[from];
  }
  return test::distance(mine, recorded);
}

/// A model that is trained along a curve.
class Curve {
 public:
  Curve(const Json& record, BuildTraining build) : record_(record) {
    const auto guard = graph_.as_default();
    tf::set_random_seed(1);
    training_ = build(record_["options"], [&] { return [&] { return placeholders(); }; });
    const int towers = record_["options"]["towers"];
    session_ = std::make_unique<Session>(
        graph_, ConfigProto{.device_count = {{"CPU", towers}}, .allow_soft_placement = true});
    session_->run(tf::global_variables_initializer());
    start();
  }

  void train() {
    for (std::size_t step = 0; step < record_["losses"].size(); ++step) {
      std::vector<Fetch> fetches(training_.losses.begin(), training_.losses.end());
      fetches.emplace_back(training_.train_ops.at(0));
      const bool has_gradients = step == 0 && record_.contains("gradients");
      for (const GradAndVar& pair : training_.grads) {
        if (has_gradients) fetches.emplace_back(dense_gradient(pair.grad, Site::current()));
      }
      const Feeds fed = feeds(step);
      const auto got = session_->run(fetches, fed);
      for (std::size_t i = 0; i < training_.losses.size(); ++i) {
        const double ours = got[i].dtype() == float64 ? got[i].item<double>()
                                                      : static_cast<double>(got[i].item<float>()),
                     theirs = record_["losses"][step][i];
        note(std::abs(ours - theirs) / std::abs(theirs),
             fmt::format("loss {} at step {}", i, step));
      }
      for (std::size_t i = training_.losses.size() + 1; i < fetches.size(); ++i) {
        const std::string name = training_.grads[i - training_.losses.size() - 1].var.op().name();
        REQUIRE(record_["gradients"].contains(name));
        note(distance(got[i], record_["gradients"][name]), "the gradient of " + name);
      }
      for (std::size_t i = 1; i < training_.train_ops.size(); ++i) {
        session_->run(training_.train_ops[i], fed);
      }
    }
    const auto guard = graph_.as_default();
    for (const Variable& variable : tf::global_variables()) {
      CAPTURE(variable.op().name());
      REQUIRE(record_["ends"].contains(variable.op().name()));
      const Json& end = record_["ends"][variable.op().name()];
      const Array value = session_->run(variable);
      if (end.contains("below")) {  // nothing but rounding errors
        CHECK(test::summarize(value).norm < end["below"].get<double>());
      } else {
        note(distance(value, end), variable.op().name());
      }
    }
  }

  double worst() const { return worst_; }
  const std::string& worst_place() const { return worst_place_; }

 private:
  /// Returns what a tower reads: placeholders for the record's inputs.
  models::Batch placeholders() {
    std::vector<Tensor> tower;
    for (const Json& input : record_["inputs"]) {
      tower.push_back(tf::placeholder(dtype_of(input),
                                      {.shape = Shape(input[1].get<std::vector<std::int64_t>>())}));
    }
    fed_.push_back(tower);
    return {tower.front(), tower.back()};
  }

  static DType dtype_of(const Json& input) {
    for (const DType dtype : {float32, float64, int32, int64}) {
      if (input[0].get<std::string>() == dtype_name(dtype)) return dtype;
    }
    FAIL("an input of another dtype: ", input[0].dump());
    return float32;
  }

  /// Assigns the generated values to the variables and to their averages.
  void start() {
    const auto trained = tf::trainable_variables();
    REQUIRE(trained.size() == record_["variables"].size());
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const Json& row = record_["variables"][i];
      const std::string name = trained[i].op().name();
      REQUIRE(name == row["name"].get<std::string>());
      const Array value =
          test::exact_array(i, trained[i].shape(),
                            {.exponent = row["exponent"].get<int>(), .dtype = trained[i].dtype()});
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
    for (std::size_t tower = 0; tower < fed_.size(); ++tower) {
      for (std::size_t i = 0; i < fed_[tower].size(); ++i) {
        const std::uint64_t place = 1000000 + 1000 * step + 100 * tower + i;
        const Json& input = record_["inputs"][i];
        const Tensor& placeholder = fed_[tower][i];
        const DType dtype = dtype_of(input);
        list.emplace_back(
            placeholder,
            is_floating(dtype)
                ? test::exact_array(place, placeholder.shape(),
                                    {.exponent = input[2].get<int>(), .dtype = dtype})
                : test::exact_integers(place, placeholder.shape(), input[2].get<int>(), dtype));
      }
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
  std::vector<std::vector<Tensor>> fed_;  // of each tower
  std::unique_ptr<Session> session_;
  double worst_ = 0;
  std::string worst_place_;
};

}  // namespace

void check_graphs(const std::string& name, BuildTraining build) {
  const auto programs = read_program_file(path_of(name + ".graph.json.gz"));
  REQUIRE_FALSE(programs.empty());
  for (const Json& program : programs) {
    CAPTURE(program["name"].get<std::string>());
    Graph graph;
    const auto guard = graph.as_default();
    build(program["options"], nullptr);
    check_graph(graph, program);
  }
}

void check_curves(const std::string& name, BuildTraining build) {
  const std::string plain = path_of(name + ".curves.json");
  const Json file =
      Json::parse(unpacked_text(std::filesystem::exists(plain) ? plain : plain + ".gz"));
  REQUIRE_FALSE(file["curves"].empty());
  for (const Json& record : file["curves"]) {
    const std::string options = record["options"].dump();
    CAPTURE(options);
    REQUIRE(record["losses"].size() >= 1);
    Curve curve(record, build);
    curve.train();
    MESSAGE(name, " ", options, ": worst relative distance ", curve.worst(), ", ",
            curve.worst_place());
  }
}

}  // namespace towerflow::golden
