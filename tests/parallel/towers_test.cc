// Towers made by one call, compared with a handwritten loop: the same nodes and the same bits.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <memory>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// The loss of a net with an embedding table, a dense layer and a variable that only tower 1 uses.
Tensor tower_loss(int tower, const std::string& scope) {
  const auto cpu = tf::device("/cpu:0");
  const Variable table = tf::get_variable(
      "table", {6, 4}, {.initializer = tf::truncated_normal_initializer({.seed = 1})});
  const Variable w =
      tf::get_variable("w", {4, 3}, {.initializer = tf::truncated_normal_initializer({.seed = 2})});
  const Variable extra = tf::get_variable("extra", {3}, {.initializer = tf::ones_initializer()});
  const Tensor ids = tf::constant({tower, 2, 2, 5}, {.name = "ids"});
  Tensor y = tf::matmul(tf::gather(table, ids), w);
  if (tower == 1) y = y + extra;
  const Tensor loss = tf::reduce_mean(tf::square(y - 1.0F), {.name = "loss"});
  tf::add_to_collection("losses", loss);
  return tf::add_n(tf::get_collection("losses", scope), {.name = "total_loss"});
}

using MakeOptimizer = std::function<std::unique_ptr<train::Optimizer>()>;

struct Trained {
  std::vector<std::string> nodes;
  std::vector<Array> values;
  std::string report;
};

/// Trains for five steps, with towers made by `parallel::Towers` or by a handwritten loop.
Trained train_towers(const MakeOptimizer& make, int towers, bool in_one_call) {
  Graph graph;
  const auto guard = graph.as_default();
  const auto cpu = tf::device("/cpu:0");
  const Variable step = tf::get_variable(
      "global_step", Shape{}, {.initializer = tf::constant_initializer(0), .trainable = false});
  const auto optimizer = make();
  Operation train_op;
  std::vector<Tensor> losses;
  if (in_one_call) {
    const tf::parallel::Towers made(*optimizer, tower_loss,
                                    {.num_towers = towers,
                                     .compute_gradients = {.gate_gradients = tf::train::GATE_NONE},
                                     .apply_gradients = {.global_step = step}});
    train_op = made.train_op;
    losses = made.losses;
    CHECK(made.tower_grads.size() == static_cast<std::size_t>(towers));
    CHECK(made.grads.size() == 3);
    CHECK(made.grads[2].grad.has_value() == (towers > 1));
  } else {
    std::vector<std::vector<GradAndVar>> tower_grads;
    {
      const auto vars = tf::variable_scope(tf::get_variable_scope());
      for (int i = 0; i < towers; ++i) {
        const auto device = tf::device("/gpu:" + std::to_string(i));
        const auto scope = tf::name_scope("tower_" + std::to_string(i));
        const Tensor loss = tower_loss(i, scope);
        tf::get_variable_scope().reuse_variables();
        tower_grads.push_back(
            optimizer->compute_gradients(loss, {.gate_gradients = tf::train::GATE_NONE}));
        losses.push_back(loss);
      }
    }
    train_op =
        optimizer->apply_gradients(tf::average_gradients(tower_grads), {.global_step = step});
  }
  CHECK(tf::get_variable_scope()->reuse() == Reuse(false));
  Trained trained;
  for (const Operation& op : graph.get_operations()) {
    trained.nodes.push_back(fmt::format("{} {} {}", op.type(), op.name(), op.device()));
  }
  ConfigProto config;
  config.allow_soft_placement = true;
  Session session(graph, config);
  session.run(tf::global_variables_initializer());
  for (int i = 0; i < 5; ++i) session.run(train_op);
  std::vector<Fetch> kept(losses.begin(), losses.end());
  for (const Variable& variable : tf::global_variables()) kept.emplace_back(variable);
  trained.values = session.run(kept);
  trained.report = session.plan_report(std::vector<Fetch>{train_op});
  return trained;
}

}  // namespace

TEST_CASE("towers in one call make the nodes of the loop, and train to the same bits") {
  const MakeOptimizer optimizers[] = {
      [] { return std::make_unique<train::MomentumOptimizer>(0.1, 0.9); },
      [] { return std::make_unique<train::AdamOptimizer>(0.01); },
  };
  for (const MakeOptimizer& make : optimizers) {
    for (const int towers : {1, 2, 4}) {
      CAPTURE(towers);
      const Trained by_hand = train_towers(make, towers, false);
      const Trained in_one = train_towers(make, towers, true);
      CHECK(in_one.nodes == by_hand.nodes);
      CHECK(in_one.values == by_hand.values);
      CHECK(in_one.report.find("  _MeanApply") != std::string::npos);
      CHECK((in_one.report.find("  _MeanSparseApply") != std::string::npos) == (towers > 1));
    }
  }
}

TEST_CASE("towers with devices, names, a policy and weights of their own") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.5);
  const auto loss = [](int tower, const std::string& scope) {
    CHECK(scope == fmt::format("replica_{}/", tower));
    const Variable w = tf::get_variable("w", {2}, {.initializer = tf::zeros_initializer()});
    return (tower + 1.0F) * tf::reduce_sum(w);
  };
  const tf::parallel::Towers towers(
      opt, loss,
      {.num_towers = 2,
       .device = [](int tower) { return fmt::format("/device:CPU:{}", 1 - tower); },
       .name = "replica",
       .policy = AveragePolicy::weighted_mean,
       .weight = [](int tower) { return tf::constant(tower == 0 ? 3 : 1); }});
  CHECK(towers.losses[0].device() == "/device:CPU:1");
  CHECK(towers.losses[1].name() == "replica_1/mul:0");
  Session session(graph, {.device_count = {{"CPU", 2}}});
  session.run(tf::global_variables_initializer());
  session.run(towers.train_op);
  // (3 * 1 + 1 * 2) / 4
  CHECK(session.run(towers.grads[0].var).data<float>()[1] == -0.5F * 1.25F);
}

TEST_CASE("towers run the update ops that the policy chooses") {
  const auto loss = [](int tower, const std::string&) {
    const Tensor x = tf::constant({{1.0F, 2.0F}, {3.0F, 8.0F}}) + static_cast<float>(tower);
    const Tensor y =
        tf::layers::batch_normalization(x, {.momentum = 0.5, .training = true, .name = "bn"});
    return tf::reduce_sum(tf::square(y - 1.0F));
  };
  using Policy = std::optional<UpdateOpsPolicy>;
  // The moving mean of the first channel starts at 0; the towers' means are 2 and 3.
  const std::vector<std::tuple<Policy, std::size_t, float>> expected{
      {std::nullopt, 0, 0.0F},           {UpdateOpsPolicy::first, 2, 1.0F},
      {UpdateOpsPolicy::last, 2, 1.5F},  {UpdateOpsPolicy::all, 4, 2.5F},
      {UpdateOpsPolicy::in_order, 4, 2}, {UpdateOpsPolicy::merged, 2, 1.25F}};
  for (const auto& [policy, ops, mean] : expected) {
    Graph graph;
    const auto guard = graph.as_default();
    train::GradientDescentOptimizer opt(0.1);
    const tf::parallel::Towers towers(opt, loss, {.num_towers = 2, .update_ops = policy});
    CHECK(towers.update_ops.size() == ops);
    const WhoTrains who = tf::who_trains_what({{"loss", towers.losses, towers.train_op}});
    const bool replaced = policy == UpdateOpsPolicy::all || policy == UpdateOpsPolicy::merged;
    CHECK(who.updates_run.size() == (replaced ? 0 : ops));
    CHECK(who.updates_instead.size() == (replaced ? 2 : 0));
    CHECK((who.text.find("  in their place: update_averaging/AssignMovingAvg") !=
           std::string::npos) == (policy == UpdateOpsPolicy::merged));
    Session session({.allow_soft_placement = true});
    session.run(tf::global_variables_initializer());
    session.run(towers.train_op);
    for (const Variable& variable : tf::global_variables()) {
      if (variable.op().name() != "bn/moving_mean") continue;
      CHECK(session.run(variable).data<float>()[0] == mean);
    }
  }
}

TEST_CASE("towers that cannot be made") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.5);
  const auto loss = [](int, const std::string&) {
    return tf::reduce_sum(tf::get_variable("w", {2}));
  };
  using tf::parallel::Towers;
  CHECK_THROWS_AS(Towers(opt, loss, {.num_towers = 0}), ValueError);
  CHECK_THROWS_AS(Towers(opt, {}, {}), ValueError);
  CHECK_THROWS_AS(Towers(opt, loss, {.policy = AveragePolicy::weighted_mean}), ValueError);
  const auto weight = [](int) { return tf::constant(1); };
  CHECK_THROWS_AS(Towers(opt, loss, {.weight = weight}), ValueError);
  CHECK(get_default_graph().size() == 0);
}
