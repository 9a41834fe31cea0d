// Slots in scopes that reuse variables, and the adaptive optimizers in float64.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/eager.h"
#include "tests/support/error_text.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

/// Returns the loss w^2 with w = 3 and makes the scope reuse variables from then on.
Tensor square_of_w(DType dtype) {
  const Variable w = tf::get_variable(
      "w", None, {.initializer = Initializer(testing::array_of(dtype, Shape{1}, {3}))});
  const Tensor loss = tf::reduce_sum(tf::square(w));
  tf::get_variable_scope().reuse_variables();
  return loss;
}

}  // namespace

TEST_CASE("slots are made in a scope that reuses, as two towers and a second optimizer need") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor loss = square_of_w(float32);
  tf::train::AdamOptimizer adam(0.1);
  tf::train::MomentumOptimizer momentum(0.1, 0.9);
  CHECK_NOTHROW(adam.minimize(loss));
  CHECK_NOTHROW(momentum.minimize(loss));
  CHECK(tf::get_variable_scope()->reuse() == Reuse(true));  // only the slots ignore it
  std::vector<std::string> names;
  for (const Variable& v : tf::global_variables()) names.push_back(v.op().name());
  CHECK(names == std::vector<std::string>{"w", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1",
                                          "w/Momentum"});
}

TEST_CASE("a second optimizer in the same scope shares the slots that it finds") {
  Graph graph;
  const auto guard = graph.as_default();
  for (const bool reuse : {false, true}) {
    const auto scope = tf::variable_scope("net", {.reuse = reuse});
    const Variable w = tf::get_variable("w", Shape{2});
    tf::train::MomentumOptimizer(0.1, 0.9).minimize(tf::reduce_sum(tf::square(w)));
  }
  CHECK(tf::global_variables().size() == 2);  // w and its one slot
}

TEST_CASE("a strict optimizer fails there as TensorFlow does") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor loss = square_of_w(float32);
  tf::train::AdamOptimizer adam(0.1);
  adam.set_strict_slots(true);
  CHECK_THROWS_WITH_AS(adam.minimize(loss), doctest::Contains("w/Adam"), ValueError);
}

TEST_CASE("the hint of a strict optimizer is about slots, not about scope names") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor loss = square_of_w(float32);
  const unsigned reused = __LINE__ + 1;
  tf::get_variable_scope().reuse_variables();
  tf::train::AdamOptimizer adam(0.1);
  adam.set_strict_slots(true);
  const unsigned used = __LINE__ + 1;
  const std::string said = testing::error_text([&] { adam.minimize(loss); });
  CHECK_SAYS(said, "ValueError", "w/Adam", "does not exist",
             "slots_test.cc:" + std::to_string(used), "reuse since ",
             "slots_test.cc:" + std::to_string(reused), "before reuse is turned on",
             "set_strict_slots(false)");
  CHECK(said.find("same variable scope name") == std::string::npos);
}

TEST_CASE("two steps of Adam in float64") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor loss = square_of_w(float64);
  tf::train::AdamOptimizer adam(0.5, {.beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.125});
  const Operation step = adam.minimize(loss);
  Session session;
  session.run(tf::global_variables_initializer());
  double w = 3, m = 0, v = 0;
  for (int t = 1; t <= 2; ++t) {
    const double g = 2 * w;
    m = 0.5 * m + 0.5 * g;
    v = 0.75 * v + 0.25 * g * g;
    const double rate = 0.5 * std::sqrt(1 - std::pow(0.75, t)) / (1 - std::pow(0.5, t));
    w -= rate * m / (std::sqrt(v) + 0.125);
    session.run(step);
  }
  // As in TensorFlow, powers and hyperparameters are float32; 0.75 and 0.5 are exact.
  CHECK(numbers(session.run(tf::trainable_variables()[0]))[0] == doctest::Approx(w).epsilon(1e-7));
}

TEST_CASE("an accumulator that starts at nothing is refused") {
  for (const double start : {0.0, -1.0, std::nan("")}) {
    CHECK_THROWS_AS(tf::train::AdagradOptimizer(0.1, {.initial_accumulator_value = start}),
                    ValueError);
  }
}

TEST_CASE("an optimizer that is used in several graphs keeps slots of its own in each") {
  tf::train::AdamOptimizer adam(0.1);
  for (int i = 0; i < 3; ++i) {
    Graph graph;  // destroyed before the next one is made
    const auto guard = graph.as_default();
    CHECK(adam.variables().empty());
    const Tensor loss = square_of_w(float32);
    const Variable w = tf::trainable_variables()[0];
    CHECK_FALSE(adam.get_slot(w, "m").has_value());
    const Operation step = adam.minimize(loss);
    CHECK(&adam.get_slot(w, "m")->graph() == &graph);
    std::vector<std::string> names;
    for (const Variable& variable : adam.variables()) names.push_back(variable.name());
    CHECK(names ==
          std::vector<std::string>{"beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0"});
    Session session;
    session.run(tf::global_variables_initializer());
    session.run(step);
    CHECK(numbers(session.run(w))[0] == doctest::Approx(2.9));
  }
  CHECK(adam.get_slot_names() == std::vector<std::string>{"m", "v"});
}
