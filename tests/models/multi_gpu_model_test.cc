// Options of multi_gpu_model: what the text forgets, and for what its updates wait.
#include "models/multi_gpu_model/multi_gpu_model.h"

#include <doctest/doctest.h>

#include "models/digits.h"
#include "tests/models/ancestors.h"
#include "towerflow/tf.h"

namespace {

using namespace towerflow;
namespace multi = models::multi_gpu_model;

TEST_CASE("without reuse, the model in scope test fails after a single tower") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_WITH_AS(multi::build({.num_gpus = 1, .reuse = false}),
                       doctest::Contains("hidden/w already exists"), ValueError);
  CHECK(tf::get_collection<multi::Model>("train_model").size() == 1);
}

/// Builds two towers, runs three steps and returns the variables.
std::vector<Array> trained(bool updates_wait) {
  Graph graph;
  const auto guard = graph.as_default();
  tf::set_random_seed(1);
  const multi::Program program =
      multi::build({.num_gpus = 2,
                    .next_batch = [] { return models::batch_in_memory(4); },
                    .updates_wait = updates_wait});
  const std::string last = program.grads.back().grad->dense().op().name();
  for (const Operation& op : graph.get_operations()) {
    if (op.type() != "ApplyGradientDescent" || op.name().find("hidden/w") == std::string::npos) {
      continue;
    }
    CHECK(testing::ancestors(op).count(last) == (updates_wait ? 1 : 0));
  }
  Session session({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  for (int step = 0; step < 3; ++step) session.run(program.train_op);
  std::vector<Array> variables;
  for (const Variable& variable : tf::trainable_variables()) {
    variables.push_back(session.run(variable));
  }
  return variables;
}

TEST_CASE("an update waits for all gradients, or for its own: the numbers are the same") {
  const std::vector<Array> waiting = trained(true), at_once = trained(false);
  REQUIRE(waiting.size() == 4);
  for (std::size_t i = 0; i < waiting.size(); ++i) CHECK(waiting[i] == at_once[i]);
}

}  // namespace
