// Towers with absent gradients: in one or all of them, under two optimizers, with and without
// slots.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/support/eager.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;
using Numbers = std::vector<double>;
using TowerGrads = std::vector<std::vector<GradAndVar>>;

namespace {

/// Towers over the variables `everywhere` (1, 2), `second` (10) and `nowhere` (100). The loss of
/// tower i is (i + 1) * sum(everywhere), plus 4 * second in tower 1. So the gradients are i + 1 in
/// each tower, 4 in tower 1 only, and none.
struct Net {
  explicit Net(int towers) {
    const auto vars = tf::variable_scope(tf::get_variable_scope());
    for (int i = 0; i < towers; ++i) {
      const auto scope = tf::name_scope("tower_" + std::to_string(i));
      everywhere = variable("everywhere", {1, 2});
      second = variable("second", {10});
      nowhere = variable("nowhere", {100});
      Tensor loss = (i + 1.0F) * tf::reduce_sum(*everywhere);
      if (i == 1) loss = loss + 4.0F * tf::reduce_sum(*second);
      losses.push_back(loss);
      tf::get_variable_scope().reuse_variables();
    }
  }
  static Variable variable(const std::string& name, const Numbers& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return tf::get_variable(
        name, Shape{size},
        {.initializer = InitializerFunction([=](const Shape& shape, DType dtype, Site) {
           return tf::constant(testing::array_of(dtype, shape, values));
         })});
  }
  TowerGrads gradients(train::Optimizer& opt, std::optional<std::vector<Variable>> vars = {}) {
    TowerGrads all;
    for (const Tensor& loss : losses) {
      // Not gated, so that one gradient does not wait for the variables that the others read.
      train::ComputeGradientsOptions options{.gate_gradients = train::GATE_NONE};
      if (vars) options.var_list = *vars;
      all.push_back(opt.compute_gradients(loss, options));
    }
    return all;
  }

  std::optional<Variable> everywhere, second, nowhere;
  std::vector<Tensor> losses;
};

std::vector<std::string> names_of(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& v : variables) names.push_back(v.op().name());
  return names;
}

}  // namespace

TEST_CASE("the mean is over the towers that have a gradient") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(3);
  tf::train::GradientDescentOptimizer opt(0.5);
  const TowerGrads towers = net.gradients(opt);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(towers[i].size() == 3);
    CHECK(towers[i][0].grad.has_value());
    CHECK(towers[i][1].grad.has_value() == (i == 1));
    CHECK_FALSE(towers[i][2].grad.has_value());
  }
  const auto mean = tf::average_gradients(towers);
  REQUIRE(mean.size() == 3);
  CHECK(numbers(mean[0].grad->dense()) == Numbers{2, 2});
  CHECK(numbers(mean[1].grad->dense()) == Numbers{4});  // not 4 / 3
  CHECK_FALSE(mean[2].grad.has_value());
}

TEST_CASE("without slots: absent in one tower, absent in all") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(2);
  tf::train::GradientDescentOptimizer opt(0.5);
  const Operation step = opt.apply_gradients(tf::average_gradients(net.gradients(opt)));
  CHECK(opt.variables().empty());
  Session session;
  session.run(tf::global_variables_initializer());
  for (int i = 0; i < 3; ++i) session.run(step);
  CHECK(numbers(session.run(*net.everywhere)) == Numbers{1 - 3 * 0.75, 2 - 3 * 0.75});
  CHECK(numbers(session.run(*net.second)) == Numbers{10 - 3 * 2});
  CHECK(numbers(session.run(*net.nowhere)) == Numbers{100});
}

TEST_CASE("with slots: a variable and its slot rest while no tower has a gradient") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(2);
  tf::train::MomentumOptimizer opt(0.5, 0.5);
  const Operation without = opt.apply_gradients(tf::average_gradients(net.gradients(opt)));
  // TensorFlow creates no slot for a variable without a gradient.
  CHECK(names_of(opt.variables()) ==
        std::vector<std::string>{"everywhere/Momentum", "second/Momentum"});
  CHECK_FALSE(opt.get_slot(*net.nowhere, "momentum").has_value());
  // A step that trains `nowhere` gives it a slot. The other step changes neither.
  const Tensor reach = 8.0F * tf::reduce_sum(*net.nowhere);
  const Operation reaching = opt.apply_gradients(opt.compute_gradients(reach));
  const Variable slot = opt.get_slot(*net.nowhere, "momentum").value();
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(reaching);
  CHECK(numbers(session.run(*net.nowhere)) == Numbers{96});
  CHECK(numbers(session.run(slot)) == Numbers{8});
  for (int i = 0; i < 2; ++i) session.run(without);
  CHECK(numbers(session.run(*net.nowhere)) == Numbers{96});
  CHECK(numbers(session.run(slot)) == Numbers{8});
  // Momentum of `second`: 4, then 4 + 0.5 * 4. Of `everywhere`: 1.5, then 1.5 + 0.75.
  CHECK(numbers(session.run(*net.second)) == Numbers{10 - 0.5 * (4 + 6)});
  CHECK(numbers(session.run(*net.everywhere)) == Numbers{1 - 0.5 * 3.75, 2 - 0.5 * 3.75});
  CHECK(numbers(session.run(opt.get_slot(*net.second, "momentum").value())) == Numbers{6});
}

TEST_CASE("two optimizers, each over variables of its own") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(2);
  tf::train::MomentumOptimizer momentum(0.5, 0.5);
  tf::train::GradientDescentOptimizer descent(1.0);
  const Operation a = momentum.apply_gradients(
      tf::average_gradients(net.gradients(momentum, std::vector{*net.everywhere, *net.nowhere})));
  const Operation b = descent.apply_gradients(
      tf::average_gradients(net.gradients(descent, std::vector{*net.second, *net.nowhere})));
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(a);
  CHECK(numbers(session.run(*net.everywhere)) == Numbers{0.25, 1.25});
  CHECK(numbers(session.run(*net.second)) == Numbers{10});
  session.run(b);
  CHECK(numbers(session.run(*net.everywhere)) == Numbers{0.25, 1.25});
  CHECK(numbers(session.run(*net.second)) == Numbers{6});
  session.run(std::vector<Fetch>{a, b});
  CHECK(numbers(session.run(*net.everywhere)) == Numbers{0.25 - 0.5 * 2.25, 1.25 - 0.5 * 2.25});
  CHECK(numbers(session.run(*net.second)) == Numbers{2});
  CHECK(numbers(session.run(*net.nowhere)) == Numbers{100});
  CHECK(names_of(momentum.variables()) == std::vector<std::string>{"everywhere/Momentum"});
}

TEST_CASE("no gradient in any tower for any variable") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(2);
  tf::train::MomentumOptimizer opt(0.5, 0.5);
  const auto mean = tf::average_gradients(net.gradients(opt, std::vector{*net.nowhere}));
  REQUIRE(mean.size() == 1);
  CHECK_FALSE(mean[0].grad.has_value());
  try {
    opt.apply_gradients(mean);
    FAIL("apply_gradients took no gradient at all");
  } catch (const ValueError& error) {
    CHECK(std::string(error.what()).find("nowhere") != std::string::npos);
  }
  CHECK(opt.variables().empty());
}

TEST_CASE("towers that list other variables, and no towers") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(2);
  tf::train::GradientDescentOptimizer opt(0.5);
  TowerGrads towers = net.gradients(opt);
  std::swap(towers[1][0], towers[1][2]);
  CHECK_THROWS_AS(tf::average_gradients(towers), ValueError);
  towers[1].pop_back();
  CHECK_THROWS_AS(tf::average_gradients(towers), ValueError);
  CHECK_THROWS_AS(tf::average_gradients({}), ValueError);
}

TEST_CASE("towers that list the same variables in another order") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(3);
  tf::train::GradientDescentOptimizer opt(0.5);
  TowerGrads towers = net.gradients(opt);
  std::swap(towers[2][1], towers[2][2]);
  const std::string said = testing::error_text([&] { tf::average_gradients(towers); });
  CHECK_SAYS(said, "tower 2 lists nowhere:0 at position 1, where tower 0 lists second:0",
             "average_gradients_test.cc:" + std::to_string(__LINE__ - 2),
             "the same variables in another order", ".var_list");
  CHECK(said.find("reuse_variables") == std::string::npos);
}

TEST_CASE("towers that have variables of their own, and towers that lack one") {
  Graph graph;
  const auto guard = graph.as_default();
  Net net(2);
  tf::train::GradientDescentOptimizer opt(0.5);
  TowerGrads towers = net.gradients(opt);
  towers[1][1].var = tf::get_variable("stranger", {1});
  CHECK_SAYS(testing::error_text([&] { tf::average_gradients(towers); }),
             "tower 1 lists stranger:0 at position 1, where tower 0 lists second:0",
             "reuse_variables()");
  towers = net.gradients(opt);
  towers[1].pop_back();
  CHECK_SAYS(testing::error_text([&] { tf::average_gradients(towers); }),
             "tower 1 lists 3 variables and tower 0 lists 4: stranger:0 is missing");
}
