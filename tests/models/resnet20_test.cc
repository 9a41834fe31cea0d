#include "models/resnet20/resnet20.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "data/cifar10.h"
#include "tests/data/support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;
namespace resnet20 = models::resnet20;

namespace {

/// A training graph of batches in memory.
struct Built {
  explicit Built(const resnet20::TowersOptions& options) {
    const auto guard = graph.as_default();
    towers =
        resnet20::build_towers(options, [] { return [] { return resnet20::batch_in_memory(2); }; });
    trained = tf::trainable_variables();
  }
  Graph graph;
  resnet20::Towers towers;
  std::vector<Variable> trained;
};

std::int64_t parameters(int num_layers) {
  std::int64_t count = 0;
  for (const Variable& variable : Built({.num_layers = num_layers}).trained) {
    count += variable.shape().elements();
  }
  return count;
}

}  // namespace

TEST_CASE("resnet20 has as many parameters as the estimator's network") {
  CHECK(parameters(44) == 658651);
  CHECK(parameters(20) == 269787);
  for (const int layers : {2, 7, 21}) {
    CHECK_THROWS_WITH_AS(parameters(layers), doctest::Contains(std::to_string(layers).c_str()),
                         ValueError);
  }
}

TEST_CASE("the rate of resnet20 falls after parts of the schedule") {
  const auto rate_after = [](int towers, std::int64_t epochs, std::int64_t steps) {
    Built built({.num_layers = 8,
                 .num_towers = towers,
                 .batch_size = 2,
                 .examples = 8,
                 .schedule_epochs = epochs});
    Session session(built.graph, {.allow_soft_placement = true});
    const Array step = Array::of<std::int64_t>(Shape{}, {steps});
    return session.run(built.towers.learning_rate, {{built.towers.global_step, step}})
        .item<float>();
  };
  const auto near = [](double rate) { return doctest::Approx(rate); };
  for (const int towers : {1, 2}) {
    CAPTURE(towers);
    const std::int64_t steps = towers == 1 ? 4 : 2;  // of an epoch
    CHECK(rate_after(towers, 164, 82 * steps) == near(0.1));
    CHECK(rate_after(towers, 164, 82 * steps + 1) == near(0.01));
    CHECK(rate_after(towers, 164, 123 * steps + 1) == near(0.001));
    CHECK(rate_after(towers, 164, 300 * steps + 1) == near(0.0002));
    CHECK(rate_after(towers, 28, 14 * steps) == near(0.1));
    CHECK(rate_after(towers, 28, 14 * steps + 1) == near(0.01));
    CHECK(rate_after(towers, 28, 21 * steps + 1) == near(0.001));
  }
}

TEST_CASE("all variables of resnet20 decay, or kernels alone") {
  for (const bool kernels_only : {false, true}) {
    CAPTURE(kernels_only);
    const Built built({.num_layers = 8, .num_towers = 2, .decay_kernels_only = kernels_only});
    std::set<std::string> decaying;
    for (const Operation& op : built.graph.get_operations()) {
      if (op.type() == "L2Loss") decaying.insert(op.input(0).op().name());
    }
    std::set<std::string> expected;
    for (const Variable& variable : built.trained) {
      const std::string& name = variable.op().name();
      if (!kernels_only || name.ends_with("/kernel")) expected.insert(name + "/read");
    }
    CHECK(decaying == expected);
    CHECK(expected.size() == (kernels_only ? 8 : 23));
  }
}

TEST_CASE("the schedule of resnet20 needs a number") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_WITH_AS(
      resnet20::kModel.build({.learning_rate = tf::constant(0.1)},
                             [] { return [] { return resnet20::batch_in_memory(2); }; }),
      doctest::Contains("must be a number"), ValueError);
}

TEST_CASE("resnet20 balances its variables by bytes") {
  Built built(
      {.num_layers = 20, .num_towers = 3, .variable_strategy = resnet20::VariableStrategy::gpu});
  std::map<std::string, std::int64_t> bytes;
  for (const Variable& variable :
       built.graph.collections().get<Variable>(GraphKeys::TRAINABLE_VARIABLES, std::nullopt)) {
    bytes[variable.op().device()] += 4 * variable.shape().elements();
  }
  REQUIRE(bytes.size() == 3);
  for (const auto& device : bytes) {
    CAPTURE(device.first);
    const std::int64_t held = device.second;
    CHECK(held > 4 * 269787 / 4);
    CHECK(held < 4 * 269787 / 2);
  }
}

TEST_CASE("the examples of a batch are dealt to the towers of resnet20 in turn") {
  const ScratchFolder folder;
  resnet20::kRecords.make(folder.path());
  const auto files = resnet20::kRecords.files_of(folder.path(), models::Part::train);
  const auto labels_of = [&](int towers, std::int64_t batch_size) {
    Graph graph;
    const auto guard = graph.as_default();
    tf::set_random_seed(1);
    const models::InputOptions options{
        .files = files, .examples = 2000, .batch_size = batch_size, .num_towers = towers};
    const auto next = resnet20::dealt_inputs(resnet20::distorted_batches(options), options);
    std::vector<Tensor> labels;
    for (int i = 0; i < towers; ++i) labels.push_back(next().labels);
    return Session(graph).run(labels);
  };
  const Array whole = labels_of(1, 12)[0];
  const std::vector<Array> dealt = labels_of(3, 4);
  std::set<std::int32_t> seen;
  for (std::size_t k = 0; k < 12; ++k) {
    CHECK(dealt[k % 3].data<std::int32_t>()[k / 3] == whole.data<std::int32_t>()[k]);
    seen.insert(whole.data<std::int32_t>()[k]);
  }
  CHECK(seen.size() > 3);
}
