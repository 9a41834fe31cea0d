// Nodes that are awaited but not read are not computed. Effects that they wait for still happen.
#include <doctest/doctest.h>

#include <string>

#include "towerflow/tf.h"

namespace towerflow {
namespace {

std::size_t launches(const std::string& report, const std::string& op) {
  std::size_t count = 0;
  for (std::size_t at = report.find(op); at != std::string::npos; at = report.find(op, at + 1)) {
    ++count;
  }
  return count;
}

std::string report_of(const Fetch& fetch, bool drop_unread) {
  ConfigProto config;
  config.passes.drop_unread = drop_unread;
  Session session(config);
  return session.plan_report(std::span<const Fetch>(&fetch, 1));
}

TEST_CASE("a gated gradient that nobody reads is dropped, values stay") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor x = random_uniform({4, 3}, {.seed = 1});
  const Variable w = get_variable("w", {3, 2}, {.initializer = ones_initializer()});
  const Tensor loss = reduce_sum(square(matmul(x + 1.0, w)));
  train::GradientDescentOptimizer optimizer(0.5);
  const Operation step = optimizer.minimize(loss, {.gate_gradients = train::GATE_OP});
  const Operation init = global_variables_initializer();
  Array with_pass, without;
  for (const bool drop : {true, false}) {
    ConfigProto config;
    config.passes.drop_unread = drop;
    Session session(config);
    session.run(init);
    session.run(step);
    (drop ? with_pass : without) = session.run(w);
  }
  for (std::size_t i = 0; i < 6; ++i) CHECK(with_pass.data<float>()[i] == without.data<float>()[i]);
  // MatMul runs forward and for the gradient of w and, without the pass, also for that of x.
  CHECK(report_of(step, true) != report_of(step, false));
  CHECK(launches(report_of(step, false), "MatMul") > launches(report_of(step, true), "MatMul"));
}

TEST_CASE("effects behind a dropped node happen, in order") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Variable w = get_variable("w", {}, {.initializer = zeros_initializer()});
  const Variable v = get_variable("v", {}, {.initializer = zeros_initializer()});
  const Operation init = global_variables_initializer();
  const Tensor added = assign_add(w, 1.0);
  Tensor unread;
  {
    const auto after = control_dependencies({Fetch(added)});
    unread = exp(constant(2.0)) * 3.0;
  }
  Operation last;
  {
    const auto after = control_dependencies({Fetch(identity(unread))});
    last = assign(v, 5.0).op();
  }
  Session session;
  session.run(init);
  session.run(last);
  CHECK(session.run(w).data<float>()[0] == 1.0f);
  CHECK(session.run(v).data<float>()[0] == 5.0f);
  session.run(group({Fetch(unread)}));
  CHECK(session.run(w).data<float>()[0] == 2.0f);
}

TEST_CASE("an assertion that nobody reads still fails") {
  Graph graph;
  const auto as_default = graph.as_default();
  const Tensor x = placeholder(DType::float32, {.shape = Shape{}, .name = "x"});
  const Operation check = Assert(x > 0.0, {x});
  Tensor y;
  {
    const auto after = control_dependencies({Fetch(check)});
    y = x * 2.0;
  }
  Tensor z;
  {
    const auto after = control_dependencies({Fetch(y)});
    z = constant(1.0) + 1.0;
  }
  Session session;
  CHECK(session.run(z, {{x, 1.0}}).data<float>()[0] == 2.0f);
  CHECK_THROWS_AS(session.run(z, {{x, -1.0}}), errors::InvalidArgumentError);
}

}  // namespace
}  // namespace towerflow
