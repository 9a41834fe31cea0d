// Compares the graph of models/mnist with the TensorFlow program's.
#include <doctest/doctest.h>

#include "models/digits.h"
#include "models/mnist.h"
#include "models/summaries.h"
#include "tests/golden/graph_check.h"
#include "tests/golden/programs.h"
#include "tests/support/data_dir.h"

namespace {

using namespace towerflow;

TEST_CASE("the graph of models/mnist is the TensorFlow program's") {
  const auto programs = golden::read_program_file(towerflow::test::source_root() /
                                                  "tests/golden/programs/mnist.json");
  int checked = 0;
  for (const golden::Json& program : programs) {
    const std::string name = program["name"];
    CAPTURE(name);
    Graph graph;
    const auto guard = graph.as_default();
    models::mnist::build_towers(
        {.num_towers = name[6] - '0', .net = {.relu_logits = name.ends_with("_relu")}},
        [] { return models::inputs({.files = {"train.tfrecords"}, .num_epochs = 5}); });
    golden::check_graph(graph, program);
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("with summaries too: names, tags, collections, devices") {
  const auto programs = golden::read_program_file(towerflow::test::source_root() /
                                                  "tests/golden/programs/mnist_summaries.json");
  REQUIRE(programs.size() == 1);
  Graph graph;
  const auto guard = graph.as_default();
  const auto towers = models::mnist::build_towers(
      {.num_towers = 2, .net = {.relu_logits = true, .tb_logging = true}},
      [] { return models::inputs({.files = {"train.tfrecords"}, .num_epochs = 5}); });
  CHECK(towers.summaries.size() == 4);
  models::merged_summaries(towers.summaries, towers.grads, {.learning_rate = 0.005});
  golden::check_graph(graph, programs[0]);
}

}  // namespace
