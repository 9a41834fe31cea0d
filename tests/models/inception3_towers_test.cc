// What the options of inception3 change in its graph, which is too slow to run here.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "models/inception3/inception3.h"
#include "models/models.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
namespace inception3 = models::inception3;

models::BatchFunction input() {
  return [batch = inception3::batch_in_memory(1)] { return batch; };
}

inception3::Towers build(const inception3::TowersOptions& options) {
  return inception3::build_towers(options, input);
}

/// Returns the names of the operations that a run of `operation` runs.
std::set<std::string> run_by(const Operation& operation) {
  std::set<const Node*> seen;
  std::set<std::string> names;
  std::vector<const Node*> open{&operation.node()};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    names.insert(node->name);
    for (const Tensor& input : node->inputs) open.push_back(&input.node());
    open.insert(open.end(), node->control_inputs.begin(), node->control_inputs.end());
  }
  return names;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns whether the decay of the weights in a loss is of nodes in the scope of its tower.
bool of_own_decay(const Tensor& loss) {
  const std::string tower = loss.op().name().substr(0, loss.op().name().find('/') + 1);
  std::size_t own = 0, others = 0;
  for (const std::string& name : run_by(loss.op())) {
    if (!contains(name, "/L2Regularizer") || !name.ends_with("/L2Loss")) continue;
    ++(name.starts_with(tower) ? own : others);
  }
  CHECK(own + others > 90);
  CHECK((own == 0 || others == 0));
  return own > 0;
}

TEST_CASE("inception3: by default the last tower's updates run, in no order with the averages") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto towers = build({.num_towers = 2, .batch_size = 1, .classes = 3});
  const auto all = tf::get_collection<Fetch>("_update_ops_");
  REQUIRE(all.size() == 2 * 192);
  const auto run = run_by(towers.train_op);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(run.contains(all[i].operation().name()) == (i >= all.size() / 2));
  }
  const auto before = run_by(graph.get_operation_by_name("ExponentialMovingAverage"));
  CHECK_FALSE(before.contains("RMSProp"));
  CHECK_FALSE(before.contains(all.back().operation().name()));
  CHECK_FALSE(of_own_decay(towers.losses[1]));
}

TEST_CASE("inception3: each policy for the updates of batch normalizations") {
  const models::Model& model = models::find("inception3");
  const std::vector<std::pair<std::string, std::string>> expected{
      {"first", "update ops: 192 of 384 run in a step\n  nobody runs: tower_1/"},
      {"all", "update ops: 0 of 384 run in a step\n  in their place: update_averaging/"},
      {"in_order", "update ops: 384 of 384 run in a step\n"},
      {"merged", "update ops: 0 of 384 run in a step\n  in their place: update_averaging/"},
      {"last", "update ops: 192 of 384 run in a step\n  nobody runs: tower_0/"}};
  for (const auto& one : expected) {
    const std::string& policy = one.first;
    CAPTURE(policy);
    Graph graph;
    const auto guard = graph.as_default();
    const models::TrainingGraph built =
        model.build({.num_towers = 2,
                     .learning_rate = 0.1,
                     .batch_size = 1,
                     .values = {{"classes", std::int64_t{3}}, {"update-ops", policy}}},
                    input);
    CHECK(contains(models::who_trains(model, built).text, one.second));
  }
}

TEST_CASE("inception3: averages that wait for the updates, and a decay of each tower") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto towers = build({.num_towers = 2,
                             .batch_size = 1,
                             .classes = 3,
                             .ordered_averages = true,
                             .own_decay = true});
  const auto before = run_by(graph.get_operation_by_name("ExponentialMovingAverage"));
  CHECK(before.contains("RMSProp"));
  CHECK(before.contains(tf::get_collection<Fetch>("_update_ops_").back().operation().name()));
  CHECK(of_own_decay(towers.losses[0]));
  CHECK(of_own_decay(towers.losses[1]));
}

}  // namespace
