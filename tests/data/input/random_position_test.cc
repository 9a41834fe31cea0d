// The position of random ops in a checkpoint: a run that is stopped and resumed draws the numbers
// of one that runs through.
#include "train/input/random_position.h"

#include <doctest/doctest.h>

#include "tests/data/input/support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

/// Draws `steps` times, from the start or from the position in the checkpoint `restored`. Then
/// saves the position to `saved` if given.
std::vector<float> draw(int steps, const std::string& restored = "",
                        const std::string& saved = "") {
  Graph graph;
  const auto as_default = graph.as_default();
  tf::set_random_seed(7);
  const Tensor normal = tf::random_normal({3}), shuffled = tf::random_shuffle(tf::range(9));
  const auto positions = train::random_positions();
  REQUIRE(positions.size() == 2);
  train::Saver saver({train::SaverItem(positions[0]), train::SaverItem(positions[1])});
  Session session;
  if (!restored.empty()) saver.restore(session, restored);
  std::vector<float> drawn;
  for (int step = 0; step < steps; ++step) {
    const auto [numbers, order] = session.run({normal, shuffled});
    for (int i = 0; i < 3; ++i) drawn.push_back(numbers.data<float>()[i]);
    for (int i = 0; i < 9; ++i) {
      drawn.push_back(static_cast<float>(order.data<std::int32_t>()[i]));
    }
  }
  if (!saved.empty()) saver.save(session, saved);
  return drawn;
}

TEST_CASE("a resumed run draws what it would have drawn") {
  const ScratchFolder folder;
  const std::string checkpoint = (folder / "model.ckpt").string();
  const std::vector<float> whole = draw(5);
  std::vector<float> parts = draw(2, "", checkpoint);
  const std::vector<float> rest = draw(3, checkpoint);
  parts.insert(parts.end(), rest.begin(), rest.end());
  CHECK(parts == whole);
  draw(0, checkpoint, checkpoint);  // what was restored is saved again
  CHECK(draw(3, checkpoint) == rest);
}

TEST_CASE("only what a step draws has a position") {
  Graph graph;
  const auto as_default = graph.as_default();
  tf::random_normal({2});  // without a seed: different numbers in each session
  CHECK(train::random_positions().empty());
  tf::set_random_seed(7);
  tf::get_variable("v", {2}, {.initializer = tf::random_normal_initializer()});
  const FIFOQueue queue(4, {DType::float32}, {.shapes = {Shape{}}});
  const Operation enqueue = queue.enqueue({tf::random_normal(Shape{})});
  train::add_queue_runner(train::QueueRunner(queue, {enqueue}));
  CHECK(train::random_positions().empty());
  tf::random_uniform({2}, {.name = "noise"});
  const auto positions = train::random_positions();
  REQUIRE(positions.size() == 1);
  CHECK(positions[0]->name() == "_random/noise/RandomUniform");
}

}  // namespace
