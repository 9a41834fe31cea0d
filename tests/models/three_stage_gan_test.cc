// The three-stage GAN: StagedTowers makes the nodes of its handwritten loop.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "models/three_stage_gan/three_stage_gan.h"
#include "towerflow/tf.h"

using namespace towerflow;
namespace gan = towerflow::models::three_stage_gan;

namespace {

std::vector<std::string> nodes_of(const Graph& graph) {
  std::vector<std::string> nodes;
  for (const Operation& op : graph.get_operations()) {
    nodes.push_back(fmt::format("{} {} {}", op.type(), op.name(), op.device()));
  }
  return nodes;
}

std::vector<Variable> of_scope(const char* scope) {
  return tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, scope);
}

}  // namespace

TEST_CASE("staged towers make the nodes of the three-stage GAN's handwritten loop") {
  Graph by_hand;
  {
    const auto guard = by_hand.as_default();
    const auto cpu = tf::device("/cpu:0");
    gan::build_towers({.num_gpus = 2, .learning_rate = 0.001});
  }
  Graph in_one_call;
  {
    const auto guard = in_one_call.as_default();
    const auto cpu = tf::device("/cpu:0");
    const Variable step = tf::train::get_or_create_global_step();
    train::AdamOptimizer gen_only(0.001), discm_only(0.001), full(0.001);
    const auto losses = [](int, const std::string&) {
      const gan::Losses made = gan::build_tower({}).losses;
      return std::vector<Tensor>{made.gen_only, made.discm_only, made.full};
    };
    tf::parallel::StagedTowers(
        {{.name = "generator", .optimizer = gen_only},
         {.name = "discriminator",
          .optimizer = discm_only,
          .variables = [] { return of_scope("discriminator"); }},
         {.name = "both", .optimizer = full}},
        losses, {.num_towers = 2, .name = "Tower", .apply_gradients = {.global_step = step}});
  }
  CHECK(nodes_of(in_one_call) == nodes_of(by_hand));
}

TEST_CASE("with the tutorial's averager, an absent gradient ends the three-stage GAN") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_WITH_AS(gan::build_towers({.tutorial_averager = true}),
                       doctest::Contains("the gradient of 'Tower_0/gen_only_loss:0' with respect "
                                         "to 'discriminator/conv1/kernel:0' is absent"),
                       ValueError);
}

TEST_CASE("no variable of the three-stage GAN is in the scope of a tower") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_AS(gan::build_towers({.collect_by_tower = true}), ValueError);
  CHECK(of_scope("Tower_0/discriminator").empty());
  CHECK(of_scope("discriminator").size() == 8);
}
