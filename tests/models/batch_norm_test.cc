// Options of batch_norm: the optimizer that the text forgets, and the order of a step.
#include "models/batch_norm/batch_norm.h"

#include <doctest/doctest.h>

#include <set>

#include "models/digits.h"
#include "tests/models/ancestors.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
namespace bn = models::batch_norm;

/// Returns the layers that a step of two towers changes.
std::set<std::string> trained_layers(bn::TowersOptions options) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(1);
  const bn::Towers towers = bn::build_towers(options, [] { return models::batch_in_memory(4); });
  Session session({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  const std::vector<Variable> variables = tf::trainable_variables();
  std::vector<Array> before;
  for (const Variable& variable : variables) before.push_back(session.run(variable));
  session.run(towers.train_op);
  std::set<std::string> changed;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const std::string name = variables[i].op().name();
    if (!(session.run(variables[i]) == before[i])) changed.insert(name.substr(0, name.find('/')));
  }
  return changed;
}

TEST_CASE("with forget_fc nothing trains the fully connected layers, in any way") {
  const std::set<std::string> convolutions{"conv1", "conv2"};
  std::set<std::string> all = convolutions;
  all.insert({"fc1", "fc2"});
  for (const bn::Collecting collecting :
       {bn::Collecting::extended, bn::Collecting::after, bn::Collecting::replaced}) {
    CHECK(trained_layers({.collecting = collecting}) == all);
    CHECK(trained_layers({.collecting = collecting, .forget_fc = true}) == convolutions);
  }
}

TEST_CASE("the optimizers wait for the moving averages only in an ordered step") {
  for (const auto& [name, collecting] : bn::ways()) {
    for (const bool ordered : {false, true}) {
      CAPTURE(ordered);
      Graph graph;
      const auto guard = graph.as_default();
      const bn::Towers towers = bn::build_towers({.collecting = collecting, .ordered = ordered},
                                                 [] { return models::batch_in_memory(2); });
      int optimizers = 0;
      for (const Operation& op : graph.get_operations()) {
        if (op.type() != "ApplyMomentum" && op.type() != "ApplyGradientDescent") continue;
        ++optimizers;
        const std::set<std::string> before = testing::ancestors(op);
        for (const Fetch& update : towers.updates) {
          CHECK(before.count(update.operation().name()) == (ordered ? 1 : 0));
        }
      }
      CHECK(optimizers == 10);
      int averages = 0;
      for (const Operation& op : graph.get_operations()) {
        if (op.type() != "AssignSub" || op.name().find("ExponentialMovingAverage") != 0) continue;
        ++averages;
        CHECK(testing::ancestors(op).count(towers.apply_gradient_op.name()) == (ordered ? 1 : 0));
      }
      CHECK(averages == 10);
    }
  }
}

TEST_CASE("an ordered step trains the same variables") {
  CHECK(trained_layers({.ordered = true}) == trained_layers({}));
}

}  // namespace
