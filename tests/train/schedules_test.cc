// Piecewise constant learning rates. The golden program "falling_rates" compares the smooth
// schedules with TensorFlow's.
#include <doctest/doctest.h>

#include "towerflow/tf.h"

using namespace towerflow;

TEST_CASE("piecewise_constant: a boundary belongs to the piece below it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::int64, {.shape = Shape{}});
  const Tensor rate = tf::train::piecewise_constant(x, {10, 20, 30}, {0.1, 0.01, 0.001, 0.5});
  CHECK(rate.name() == "PiecewiseConstant/case/cond/Merge:0");
  CHECK(rate.dtype() == float32);
  CHECK(rate.shape() == Shape{});
  Session session;
  const auto at = [&](std::int64_t step) { return session.run(rate, {{x, step}}).item<float>(); };
  for (const std::int64_t step : {-5, 0, 10}) CHECK(at(step) == 0.1F);
  for (const std::int64_t step : {11, 20}) CHECK(at(step) == 0.01F);
  for (const std::int64_t step : {21, 30}) CHECK(at(step) == 0.001F);
  for (const std::int64_t step : {31, 1000}) CHECK(at(step) == 0.5F);
}

TEST_CASE("piecewise_constant: of the step count, as an optimizer's rate") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable step = tf::train::get_or_create_global_step();
  const Variable w = tf::get_variable("w", Shape{}, {.initializer = tf::constant_initializer(0.0)});
  const Tensor rate = tf::train::piecewise_constant(step, {1}, {1.0, 0.25}, {.name = "rate"});
  tf::train::GradientDescentOptimizer opt(rate);
  const Operation train = opt.minimize(-w, {.global_step = step});
  Session session;
  session.run(tf::global_variables_initializer());
  for (const float expected : {1.0F, 2.0F, 2.25F, 2.5F}) {
    session.run(train);
    CHECK(session.run(w).item<float>() == expected);
  }
}

TEST_CASE("piecewise_constant: tensors as boundaries and values, their gradients") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::float32, {.shape = Shape{}});
  const Tensor low = tf::constant({1.0, 2.0}), high = tf::constant({3.0, 4.0});
  const Tensor picked = tf::train::piecewise_constant(x, {tf::constant(0.5)}, {low, high});
  const auto grads = tf::gradients(picked, {low, high});
  Session session;
  const auto [value, to_low, to_high] =
      session.run({picked, grads[0]->dense(), grads[1]->dense()}, {{x, 0.75F}});
  CHECK(value.data<float>()[1] == 4.0F);
  CHECK(to_low.data<float>()[0] == 0.0F);
  CHECK(to_high.data<float>()[0] == 1.0F);
}

TEST_CASE("piecewise_constant: lists that do not fit") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = tf::placeholder(tf::int32, {.shape = Shape{}});
  CHECK_THROWS_WITH_AS(tf::train::piecewise_constant(x, {1, 2}, {0.1, 0.2}),
                       doctest::Contains("2 boundaries and 2 values"), ValueError);
  CHECK_THROWS_AS(tf::train::piecewise_constant(x, {}, {0.1}), ValueError);
  CHECK_THROWS_WITH_AS(tf::train::piecewise_constant(x, {1.5}, {0.1, 0.2}),
                       doctest::Contains("float32"), ValueError);
  CHECK_THROWS_WITH_AS(tf::train::piecewise_constant(x, {1}, {tf::constant(0.1), tf::constant(1)}),
                       doctest::Contains("int32"), ValueError);
}
