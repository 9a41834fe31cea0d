// Moving averages in scopes that reuse variables, which TensorFlow refuses, and restoring variables
// from their averages.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "tests/train/saver_support.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

Variable make_w(DType dtype = float32) {
  return tf::get_variable("w", None,
                          {.initializer = Initializer(testing::array_of(dtype, Shape{2}, {1, 2}))});
}

std::vector<std::string> global_names() {
  std::vector<std::string> names;
  for (const Variable& variable : tf::global_variables()) names.push_back(variable.op().name());
  return names;
}

}  // namespace

TEST_CASE("averages are made in a scope that reuses, those of debiased tensors too") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = make_w();
  const Tensor loss = tf::reduce_sum(tf::square(w), {.name = "loss"});
  tf::get_variable_scope().reuse_variables();
  tf::train::ExponentialMovingAverage ema(0.5, tf::None, {.zero_debias = true});
  CHECK_NOTHROW(ema.apply({w, loss}));
  CHECK(tf::get_variable_scope()->reuse() == Reuse(true));  // only the averages ignore it
  CHECK(global_names() == std::vector<std::string>{"w", "w/ExponentialMovingAverage",
                                                   "loss/ExponentialMovingAverage",
                                                   "loss/ExponentialMovingAverage/biased",
                                                   "loss/ExponentialMovingAverage/local_step"});
}

TEST_CASE("a strict average fails there as TensorFlow's, and leaves no variable behind") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = make_w();
  tf::get_variable_scope().reuse_variables();
  tf::train::ExponentialMovingAverage ema(0.5);
  ema.set_strict_slots(true);
  CHECK_THROWS_WITH_AS(ema.apply({w}), doctest::Contains("w/ExponentialMovingAverage"), ValueError);
  CHECK(global_names() == std::vector<std::string>{"w"});
  CHECK_FALSE(ema.average(w).has_value());
}

TEST_CASE("two averages in one scope share the shadow that they find") {
  Graph graph;
  const auto guard = graph.as_default();
  std::vector<Variable> shadows;
  for (const bool reuse : {false, true}) {
    const auto scope = tf::variable_scope("net", {.reuse = reuse});
    const Variable w = tf::get_variable("w", Shape{2});
    tf::train::ExponentialMovingAverage ema(0.5);
    ema.apply({w});
    shadows.push_back(*ema.average(w));
  }
  CHECK(shadows[0] == shadows[1]);
}

TEST_CASE("an average that is used in several graphs keeps shadows of its own in each") {
  tf::train::ExponentialMovingAverage ema(0.5);
  for (int i = 0; i < 3; ++i) {
    Graph graph;  // destroyed before the next one is made
    const auto guard = graph.as_default();
    const Variable w = make_w();
    const Tensor loss = tf::reduce_sum(tf::square(w), {.name = "loss"});
    CHECK_FALSE(ema.average(w).has_value());
    CHECK_FALSE(ema.average(loss).has_value());
    const Operation update = ema.apply({w, loss});
    CHECK(global_names() == std::vector<std::string>{"w", "w/ExponentialMovingAverage",
                                                     "loss/ExponentialMovingAverage"});
    CHECK(&ema.average(loss)->graph() == &graph);
    Session session;
    session.run(tf::global_variables_initializer());
    session.run(update);
    CHECK(numbers(session.run(*ema.average(loss))) == std::vector<double>{2.5});
  }
}

TEST_CASE("a model is restored from its averages") {
  const testing::ScratchFolder folder;
  {
    Graph graph;
    const auto guard = graph.as_default();
    const Variable w = make_w();
    tf::train::create_global_step();
    tf::train::ExponentialMovingAverage ema(0.5);
    const Operation update = ema.apply();
    tf::train::Saver saver;
    Session session;
    session.run(tf::global_variables_initializer());
    session.run(tf::assign(w, {3.0, 4.0}));
    session.run(update);
    CHECK(numbers(session.run(*ema.average(w))) == std::vector<double>{2, 3});
    saver.save(session, (folder / "model").string());
  }
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = make_w();
  tf::train::create_global_step();
  const tf::train::ExponentialMovingAverage ema(0.5);
  const auto restored = ema.variables_to_restore();
  CHECK(restored.size() == 2);
  CHECK(restored.at("w/ExponentialMovingAverage") == w);
  CHECK(restored.contains("global_step"));
  tf::train::Saver saver(restored);
  Session session;
  saver.restore(session, (folder / "model").string());
  CHECK(numbers(session.run(w)) == std::vector<double>{2, 3});
}

TEST_CASE("an average of float64 keeps its digits but for the decay, which is float32") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = make_w(float64);
  tf::train::ExponentialMovingAverage ema(0.75);
  const Operation update = ema.apply({w});
  Session session;
  session.run(tf::global_variables_initializer());
  session.run(tf::assign(w, testing::array_of(float64, Shape{2}, {1 + 1e-12, 2})));
  session.run(update);
  const double moved = numbers(session.run(*ema.average(w)))[0] - 1;
  CHECK(moved == doctest::Approx(0.25e-12).epsilon(1e-3));
}
