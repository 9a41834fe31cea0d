// Reading checkpoints without their graph, and variables that start from one.
#include "train/checkpoint/checkpoint_utils.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/eager.h"
#include "tests/train/golden_nodes.h"
#include "tests/train/saver_support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

const char* const kCheckpoint = "tests/train/golden/saver.ckpt-7";

bool contains_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("list_variables and load_variable: a checkpoint that TensorFlow wrote") {
  std::string names;
  for (const auto& [name, shape] : tf::train::list_variables(kCheckpoint)) {
    names += name + shape.text() + " ";
  }
  CHECK(names == "Flags(2,) global_step() labels(3,) net/b(3,) net/w(3, 2) nothing(0, 4) ");
  CHECK(tf::train::load_variable(kCheckpoint, "net/b") == floats({3}, {1, -2, 3}));
  CHECK(tf::train::load_variable(kCheckpoint, "net/b:0") == floats({3}, {1, -2, 3}));
  CHECK(tf::train::load_variable("tests/train/golden", "global_step") ==
        Array::scalar<std::int64_t>(7));
}

TEST_CASE("CheckpointReader: shapes, dtypes, errors") {
  const tf::train::CheckpointReader reader = tf::train::NewCheckpointReader(kCheckpoint);
  CHECK(reader.has_tensor("labels"));
  CHECK_FALSE(reader.has_tensor("label"));
  CHECK(reader.get_variable_to_shape_map().at("net/w") == Shape{3, 2});
  CHECK(reader.get_variable_to_dtype_map().at("Flags") == tf::bool_);
  CHECK(reader.get_tensor("Flags").data<bool>()[0]);
  CHECK_THROWS_AS(reader.get_tensor("x"), errors::NotFoundError);
  CHECK_THROWS_AS(tf::train::load_variable(kCheckpoint, "x"), errors::NotFoundError);
  CHECK_THROWS_AS(tf::train::NewCheckpointReader("tests/train/golden/none"), errors::NotFoundError);
  const ScratchFolder folder;
  CHECK_THROWS_AS(tf::train::load_checkpoint(folder.path().string()), ValueError);
}

TEST_CASE("init_from_checkpoint: nodes and initializers are TensorFlow's") {
  Graph graph;
  const auto guard = graph.as_default();
  {
    const auto scope = tf::variable_scope("model");
    tf::get_variable("w", Shape{3, 2});
    tf::get_variable("b", Shape{3});
  }
  Variable other;
  {
    const auto gpu = tf::device("/gpu:0");
    other = tf::get_variable("other", Shape{3});
  }
  const std::size_t before = graph.size();
  tf::train::init_from_checkpoint(kCheckpoint, {{"net/", "model/"}, {"net/b", other}});
  tf::train::init_from_checkpoint(kCheckpoint, {{"net/w", "model/w"}});
  std::string text = node_lines(graph, before);
  for (const Variable& v : tf::global_variables()) {
    // The initializer is an operation here and a tensor in TensorFlow.
    text += fmt::format("{}|{}:0|{}\n", v.name(), v.initializer().name(), v.initial_value().name());
  }
  CHECK(text == read_raw("tests/train/golden/init_from_checkpoint.txt"));
  ConfigProto config;
  config.allow_soft_placement = true;
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  CHECK(session.run(other) == floats({3}, {1, -2, 3}));
  CHECK(session.run(tf::global_variables()[0]) ==
        floats({3, 2}, {0, 0.25F, 0.5F, 0.75F, 1, 1.25F}));
}

TEST_CASE("init_from_checkpoint: what does not fit") {
  Graph graph;
  const auto guard = graph.as_default();
  tf::get_variable("z", Shape{2});
  const auto failure = [](const tf::train::AssignmentMap& map) {
    return thrown([&] { tf::train::init_from_checkpoint(kCheckpoint, map); });
  };
  CHECK(contains_text(failure({{"net/b", "z"}}), "Shape of variable z:0"));
  CHECK(contains_text(failure({{"none", "z"}}), "Tensor none is not found"));
  CHECK(contains_text(failure({{"net/b", "missing"}}), "should map to scope only"));
  CHECK(contains_text(failure({{"net/", "/"}}), "Tensor net/z"));
  CHECK_NOTHROW(tf::train::init_from_checkpoint(kCheckpoint, {{"net/", "missing/"}}));
  const Variable parts =
      tf::get_variable("parts", Shape{3}, {.partitioner = tf::fixed_size_partitioner(2)});
  CHECK_THROWS_AS(tf::train::init_from_checkpoint(kCheckpoint, {{"net/b", parts.parts()[0]}}),
                  errors::UnimplementedError);
}

TEST_CASE("wait_for_new_checkpoint: the next one, and the timeout") {
  const ScratchFolder folder;
  const std::string path = folder.path().string();
  CHECK_FALSE(tf::train::wait_for_new_checkpoint(path, std::nullopt,
                                                 {.seconds_to_sleep = 0.01, .timeout = 0.02}));
  CHECK(tf::train::wait_for_new_checkpoint("tests/train/golden") == kCheckpoint);
  CHECK_FALSE(tf::train::wait_for_new_checkpoint("tests/train/golden", kCheckpoint,
                                                 {.seconds_to_sleep = 0.01, .timeout = 0.02}));
}
