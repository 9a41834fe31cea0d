// Global steps found by name, and variables that an optimizer accepts as a global step but the
// graph does not.
#include <doctest/doctest.h>

#include "towerflow/tf.h"

using namespace towerflow;

namespace {

GetVariableOptions zero_options(DType dtype,
                                std::optional<std::vector<std::string>> collections = {}) {
  GetVariableOptions options;
  options.dtype = dtype;
  options.initializer = tf::zeros_initializer();
  options.trainable = false;
  options.collections = std::move(collections);
  return options;
}

}  // namespace

TEST_CASE("a step count is found by its name, whatever lists it") {
  for (const auto& listed : {std::vector<std::string>{"variables"}, {"mine"}, {}}) {
    Graph graph;
    const auto guard = graph.as_default();
    const Variable step = tf::get_variable("global_step", Shape{}, zero_options(int32, listed));
    CHECK(tf::train::get_global_step() == step);
    CHECK(tf::train::get_or_create_global_step() == step);
    CHECK_THROWS_AS(tf::train::create_global_step(), ValueError);
  }
}

TEST_CASE("a fraction counts for an optimizer, but is no step count of the graph") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = tf::get_variable("w", Shape{});
  const Variable step = tf::get_variable("global_step", Shape{}, zero_options(float64));
  tf::train::GradientDescentOptimizer opt(0.1);
  const Operation train = opt.minimize(tf::square(w), {.global_step = step});
  CHECK_THROWS_WITH_AS(tf::train::get_global_step(), doctest::Contains("float64"), TypeError);
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(train);
  session.run(tf::assign_add(step, 0.75));
  CHECK(tf::train::global_step(session, step) == 1);  // truncated, as by int()
}

TEST_CASE("the value of something that is no count") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable pair = tf::get_variable("pair", Shape{2}, zero_options(int64));
  Session session;
  session.run(tf::global_variables_initializer());
  CHECK_THROWS_AS(tf::train::global_step(session, pair), TypeError);
  CHECK_THROWS_AS(tf::train::assert_global_step(pair), TypeError);
}
