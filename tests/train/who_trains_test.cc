#include "train/who_trains.h"

#include <doctest/doctest.h>

#include "towerflow/tf.h"

namespace {

using namespace towerflow;

/// A generator and a discriminator on two towers, as three losses see them.
struct Gan {
  std::vector<Tensor> made, judged;
};

Gan build_gan() {
  Gan gan;
  const auto vars = tf::variable_scope(tf::get_variable_scope());
  for (int i = 0; i < 2; ++i) {
    const auto scope = tf::name_scope("tower_" + std::to_string(i));
    const Tensor fake = tf::get_variable("generator/w", {3}) * 2.0;
    const Tensor score = tf::get_variable("discriminator/w", {3}) * fake;
    tf::get_variable_scope().reuse_variables();
    gan.made.push_back(tf::reduce_sum(fake, {.name = "made"}));
    gan.judged.push_back(tf::reduce_sum(score, {.name = "judged"}));
  }
  return gan;
}

Operation train(tf::train::Optimizer&& opt, const Tensor& loss,
                const OptionalVariables& variables = {}) {
  return opt.minimize(loss, {.var_list = variables});
}

TEST_CASE("who trains what: absent and frozen gradients") {
  Graph graph;
  const auto guard = graph.as_default();
  const Gan gan = build_gan();
  const Operation first = train(tf::train::GradientDescentOptimizer(0.1), gan.made[0]);
  const Operation second =
      train(tf::train::MomentumOptimizer(0.1, 0.9), gan.judged[0],
            tf::get_collection<Variable>(GraphKeys::TRAINABLE_VARIABLES, "discriminator"));
  const std::size_t nodes = graph.get_operations().size();
  const WhoTrains who =
      tf::who_trains_what({{"made", gan.made, first}, {"judged", gan.judged, second}});
  CHECK(graph.get_operations().size() == nodes);
  REQUIRE(who.variables.size() == 2);
  const auto& [made, judged] = std::tie(who.losses[0], who.losses[1]);
  CHECK(made[0].towers[1].kind == Training::dense);
  CHECK(made[0].optimizer == "GradientDescent");
  CHECK(made[1].towers[0].kind == Training::absent);
  CHECK(made[1].towers[0].why.cause == NoneCause::no_path);
  CHECK_FALSE(made[1].update);
  CHECK(judged[0].towers[0].kind == Training::frozen);
  CHECK(judged[1].towers[0].kind == Training::dense);
  CHECK(judged[1].update.name() == "Momentum/update_discriminator/w/ApplyMomentum");
  CHECK(who.untrained.empty());
  CHECK(who.text ==
        "Who trains what: 2 variables, towers: 2\n"
        "  variable         made                    judged\n"
        "  generator/w      dense, GradientDescent  frozen\n"
        "  discriminator/w  absent [1]              dense, Momentum\n"
        "  [1] " +
            made[1].towers[0].why.text + "\n");
}

TEST_CASE("who trains what: towers that differ, slices, and what nobody trains") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable table = tf::get_variable("words/table", {5, 2});
  const Variable bias = tf::get_variable("words/bias", {2});
  const Variable forgotten = tf::get_variable("forgotten", {2});
  const Tensor rows = tf::gather(table, {1, 3});
  const std::vector<Tensor> losses{tf::reduce_sum(rows), tf::reduce_sum(rows + bias)};
  const Operation step = train(tf::train::GradientDescentOptimizer(0.1), losses[1]);
  const WhoTrains who = tf::who_trains_what({{"loss", losses, step}});
  CHECK(who.losses[0][0].towers[0].kind == Training::slices);
  CHECK(who.losses[0][1].towers[0].kind == Training::absent);
  CHECK(who.losses[0][1].towers[1].kind == Training::dense);
  REQUIRE(who.untrained.size() == 1);
  CHECK(who.untrained[0].op().name() == "forgotten");
  CHECK(who.text.find("words/bias   absent [1] | dense, GradientDescent\n") != std::string::npos);
  CHECK(who.text.find("  nobody trains: forgotten\n") != std::string::npos);
}

TEST_CASE("who trains what: update ops") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {2});
  const Variable mean = tf::get_variable("mean", {2}, {.trainable = false});
  const Tensor run = tf::assign(mean, w, {.name = "run"});
  const Tensor left = tf::assign_add(mean, w, {.name = "left"});
  for (const Tensor& update : {run, left, run}) {
    tf::add_to_collection(GraphKeys::UPDATE_OPS, update);
  }
  // An update that no optimizer made.
  const Tensor loss = tf::reduce_sum(w * w);
  const Tensor custom = tf::assign_sub(w, 0.1 * w, {.name = "custom"});
  const WhoTrains who = tf::who_trains_what({{"loss", {loss}, tf::group({custom, run})}});
  CHECK(who.losses[0][0].optimizer == "custom");
  REQUIRE(who.updates_run.size() == 1);
  REQUIRE(who.updates_not_run.size() == 1);
  CHECK(who.updates_not_run[0].name() == "left");
  REQUIRE(who.updates_twice.size() == 1);
  CHECK(who.updates_twice[0].name() == "run");
  CHECK(who.text ==
        "Who trains what: 1 variables, towers: 1\n"
        "  variable  loss\n"
        "  w         dense, custom\n"
        "  update ops: 1 of 2 run in a step\n"
        "  nobody runs: left\n"
        "  collected more than once: run\n");
  // Of other collections.
  tf::add_to_collection("own_updates", left);
  const WhoTrains own = tf::who_trains_what({{"loss", {loss}, tf::group({custom, left})}},
                                            {.update_collections = {"own_updates", "none"}});
  CHECK(own.text.ends_with("  update ops: 1 of 1 run in a step\n"));
  CHECK(own.updates_twice.empty());
}

TEST_CASE("who trains what: wrong questions") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", {2});
  const Tensor loss = tf::reduce_sum(w);
  CHECK_THROWS_WITH_AS(tf::who_trains_what({}), doctest::Contains("no loss"), ValueError);
  CHECK_THROWS_WITH_AS(tf::who_trains_what({{"a", {}, tf::no_op()}}),
                       doctest::Contains("'a' has no tower's loss"), ValueError);
  CHECK_THROWS_WITH_AS(tf::who_trains_what({{"a", {loss}, {}}}),
                       doctest::Contains("'a' has no train op"), ValueError);
  Graph other;
  const auto there = other.as_default();
  CHECK_THROWS_WITH_AS(tf::who_trains_what({{"a", {loss}, tf::no_op()}}),
                       doctest::Contains("different graphs"), ValueError);
}

}  // namespace
