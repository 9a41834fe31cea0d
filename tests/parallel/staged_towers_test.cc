// Several losses, each with its optimizer: stages, the banner, what is refused; sizes of batches.
#include <doctest/doctest.h>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::error_text;

namespace {

std::vector<Variable> of_scope(const char* scope) {
  return tf::get_collection<Variable>(tf::GraphKeys::TRAINABLE_VARIABLES, scope);
}

/// The two losses of a small game: `make` has variable g/w, `tell` d/w; tower 1 has no `tell`.
std::vector<Tensor> two_losses(int tower, const std::string&) {
  const Variable g = tf::with(tf::variable_scope("g"), [](auto&) {
    return tf::get_variable("w", {2}, {.initializer = tf::ones_initializer()});
  });
  const Variable d = tf::with(tf::variable_scope("d"), [](auto&) {
    return tf::get_variable("w", {3}, {.initializer = tf::ones_initializer()});
  });
  const Tensor make = (tower + 1.0) * tf::reduce_sum(tf::square(g));
  return {make, tower == 0 ? make + tf::reduce_sum(tf::square(d)) : make};
}

}  // namespace

TEST_CASE("a stage trains its objectives and freezes the others with their slots") {
  Graph graph;
  const auto guard = graph.as_default();
  train::MomentumOptimizer make(0.1, 0.5), tell(0.1, 0.5);
  const Variable step = tf::train::get_or_create_global_step();
  const tf::parallel::StagedTowers towers(
      {{.name = "make",
        .optimizer = make,
        .variables = [] { return of_scope("g"); },
        .apply_gradients = train::ApplyGradientsOptions{.global_step = step}},
       {.name = "tell", .optimizer = tell, .variables = [] { return of_scope("d"); }}},
      two_losses, {.num_towers = 2, .batch = tf::parallel::TowerBatch(8), .epoch_examples = 1000});
  const Operation first = towers.stage({"make"});
  const Operation both = towers.stage({"tell", "make"});
  Session session({.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  const Variable g = of_scope("g").front(), d = of_scope("d").front();

  const auto value = [&](const Variable& variable) {
    const Array values = session.run(variable);
    return values.flat<float>()[0];
  };
  session.run(first);
  // The gradients of g are 2 and 4 in the two towers: their mean is 3.
  CHECK(value(g) == doctest::Approx(1 - 0.1 * 3));
  CHECK(value(d) == 1.0F);
  CHECK(value(*tell.get_slot(d, "momentum")) == 0.0F);
  session.run(both);
  // Only tower 0 has a gradient of d, 2: it counts whole.
  CHECK(value(d) == doctest::Approx(1 - 0.1 * 2));
  CHECK(value(g) == doctest::Approx(0.7 - 0.1 * (0.5 * 3 + 3 * 0.7)));
  CHECK(session.run(step).item<std::int64_t>() == 2);

  CHECK(towers.describe() ==
        "2 towers: tower_0 on /gpu:0, tower_1 on /gpu:1\n"
        "batch: 8 examples a tower, 16 a step; 62.50 steps an epoch of 1,000 examples\n"
        "variables: in host memory, updated there once a step\n"
        "gradients: the mean of the gradients that are present\n"
        "make: Momentum trains 1 of 1 variables, 2 values\n"
        "tell: Momentum trains 1 of 1 variables, 3 values\n"
        "  no gradient in tower_1: d/w:0\n");
}

TEST_CASE("stages that would miscount the global step are refused, as are unknown names") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer make(0.1), tell(0.1);
  const Variable step = tf::train::get_or_create_global_step();
  const tf::parallel::StagedTowers towers(
      {{.name = "make", .optimizer = make}, {.name = "tell", .optimizer = tell}}, two_losses,
      {.num_towers = 2, .apply_gradients = {.global_step = step}});
  CHECK_NOTHROW(towers.stage({"make"}));
  CHECK(error_text([&] {
          towers.stage({"make", "tell"});
        }).find("would increment 'global_step:0' 2 times: objectives make, tell") !=
        std::string::npos);
  CHECK(error_text([&] { towers.stage({"made"}); }).find("known: make, tell") != std::string::npos);
  CHECK_THROWS_AS(towers.stage({}), ValueError);
  CHECK_THROWS_AS(towers.stage({"make", "make"}), ValueError);
}

TEST_CASE("objectives and losses that do not fit each other are refused") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.1);
  using tf::parallel::StagedTowers;
  CHECK_THROWS_AS(StagedTowers({}, two_losses), ValueError);
  CHECK_THROWS_AS(StagedTowers({{.name = "a", .optimizer = opt}}, nullptr), ValueError);
  CHECK_THROWS_AS(
      StagedTowers({{.name = "a", .optimizer = opt}, {.name = "a", .optimizer = opt}}, two_losses),
      ValueError);
  CHECK(error_text([&] {
          StagedTowers({{.name = "a", .optimizer = opt}}, two_losses);
        }).find("tower 0 has 2 losses for 1 objectives") != std::string::npos);
}

TEST_CASE("the home of the towers' variables is that of their slots, and no one else's") {
  Graph graph;
  const auto guard = graph.as_default();
  train::MomentumOptimizer opt(0.1, 0.9);
  const Variable before = tf::get_variable("before", {2});
  const tf::parallel::Towers towers(opt,
                                    [](int, const std::string&) {
                                      return tf::reduce_sum(tf::square(tf::get_variable(
                                          "w", {2}, {.initializer = tf::ones_initializer()})));
                                    },
                                    {.num_towers = 2, .home = VariableHome::mirrored});
  const Variable w = tf::trainable_variables().back();
  CHECK(w.name() == "w:0");
  CHECK(w.home() == VariableHome::mirrored);
  CHECK(opt.get_slot(w, "momentum")->home() == VariableHome::mirrored);
  CHECK(before.home() == VariableHome::host);
  // `before` is in the list of trainable variables too.
  CHECK(
      towers.describe().find("variables: in host memory, updated there once a step\n"
                             "variables: a copy on each accelerator, which updates it itself\n") !=
      std::string::npos);
}

TEST_CASE("the batch of a tower and that of all towers are different types") {
  using tf::parallel::GlobalBatch;
  using tf::parallel::TowerBatch;
  static_assert(!std::is_convertible_v<int, TowerBatch>);
  static_assert(!std::is_convertible_v<TowerBatch, GlobalBatch>);
  static_assert(!std::is_constructible_v<TowerBatch, double>);
  static_assert(!std::is_constructible_v<GlobalBatch, bool>);
  static_assert(!std::is_constructible_v<GlobalBatch, TowerBatch>);
  CHECK(TowerBatch(64).on(4) == GlobalBatch(256));
  CHECK(GlobalBatch(256).over(4) == TowerBatch(64));
  CHECK(GlobalBatch(10).dealt_to(4) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(GlobalBatch(2).dealt_to(3) == std::vector<std::int64_t>{1, 1, 0});
  CHECK(GlobalBatch(256).steps(50'000) == 195.3125);
  // int(50000 / 128 * 350), the decay_steps of the CIFAR-10 tutorial
  CHECK(GlobalBatch(128).steps_of_epochs(350, 50'000) == 136'718);
  CHECK_THROWS_AS(TowerBatch(0), ValueError);
  CHECK_THROWS_AS(GlobalBatch(-1), ValueError);
  CHECK_THROWS_AS(TowerBatch(1).on(0), ValueError);
  CHECK_THROWS_AS(TowerBatch(std::int64_t{1} << 62).on(4), ValueError);
  CHECK_THROWS_AS(GlobalBatch(8).steps_of_epochs(-1, 100), ValueError);
  CHECK_THROWS_AS(GlobalBatch(8).steps_of_epochs(1, 0), ValueError);
  CHECK(error_text([] { GlobalBatch(10).over(4); }).find("8 is") != std::string::npos);
}
