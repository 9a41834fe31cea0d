// A session that trains without running UPDATE_OPS logs one warning.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/error_text.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

/// Collects log messages during its lifetime.
struct Log {
  Log()
      : before(
            set_log_sink([this](LogLevel, std::string_view text) { lines.emplace_back(text); })) {}
  ~Log() { set_log_sink(before); }
  std::size_t warnings() const {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(),
        [](const std::string& text) { return text.find("UPDATE_OPS") != std::string::npos; }));
  }
  std::vector<std::string> lines;
  LogSink before;
};

/// A loss whose layer keeps two moving averages, with their updates in UPDATE_OPS.
struct Net {
  Net() : guard(graph.as_default()) {
    const Variable w = get_variable("w", {2}, {.initializer = ones_initializer()});
    for (const char* name : {"mean", "variance"}) {
      const Variable kept =
          get_variable(name, {2}, {.initializer = zeros_initializer(), .trainable = false});
      updates.push_back(assign(kept, w * 2.0, {.name = std::string("keep_") + name}));
      add_to_collection(GraphKeys::UPDATE_OPS, updates.back());
    }
    loss = reduce_sum(square(w));
  }
  Operation minimize() { return train::GradientDescentOptimizer(0.1).minimize(loss); }

  Graph graph;
  DefaultGraphGuard guard;
  std::vector<Tensor> updates;
  Tensor loss;
};

template <class Step>
std::size_t warnings_after(int steps, Step step) {
  const Log log;
  for (int i = 0; i < steps; ++i) step(i);
  return log.warnings();
}

TEST_CASE("a training that never runs UPDATE_OPS is warned of once, at its tenth step") {
  Net net;
  const Operation train_op = net.minimize();
  Session session;
  session.run(global_variables_initializer());
  Log log;
  for (int i = 0; i < 9; ++i) session.run(train_op);
  CHECK(log.warnings() == 0);
  for (int i = 0; i < 30; ++i) session.run({train_op, net.loss});
  REQUIRE(log.warnings() == 1);
  CHECK_SAYS(log.lines.front(), "2 operations in UPDATE_OPS", "'keep_mean'", "'keep_variance'",
             "tf::control_dependencies(tf::get_collection<tf::Fetch>(tf::GraphKeys::UPDATE_OPS))");
}

TEST_CASE("a callable's steps count as well") {
  Net net;
  const Operation train_op = net.minimize();
  Session session;
  session.run(global_variables_initializer());
  const auto step = session.make_callable({Fetch(train_op)});
  CHECK(warnings_after(30, [&](int) { step(); }) == 1);
}

TEST_CASE("a training that runs any of UPDATE_OPS is not warned of") {
  Net net;
  Session session;
  const Operation init = global_variables_initializer();
  SUBCASE("before the update") {
    Operation train_op;
    {
      const auto after = control_dependencies(get_collection<Fetch>(GraphKeys::UPDATE_OPS));
      train_op = net.minimize();
    }
    session.run(init);
    CHECK(warnings_after(30, [&](int) { session.run(train_op); }) == 0);
  }
  SUBCASE("beside it") {
    const Operation train_op = net.minimize();
    session.run(init);
    CHECK(warnings_after(30, [&](int) { session.run({train_op, net.updates[1]}); }) == 0);
  }
  SUBCASE("in runs of their own, now and then") {
    const Operation train_op = net.minimize();
    session.run(init);
    CHECK(warnings_after(30, [&](int i) {
            session.run(train_op);
            if (i % 5 == 4) session.run({net.updates[0], net.updates[1]});
          }) == 0);
  }
}

TEST_CASE("a training that runs another op on the same variables is not warned of") {
  Net net;
  const Operation init = global_variables_initializer();  // which writes them too
  const auto variables = global_variables();
  Operation train_op = net.minimize();
  Session session;
  session.run(init);
  SUBCASE("on one of them") {
    const Tensor other = assign(variables[1], {3.0, 4.0});
    CHECK(warnings_after(30, [&](int) { session.run({train_op, other}); }) == 0);
  }
  SUBCASE("in runs that do not train") {
    const Tensor other = assign(variables[1], {3.0, 4.0});
    session.run(other);
    CHECK(warnings_after(30, [&](int) { session.run(train_op); }) == 1);
  }
}

TEST_CASE("runs that train nothing, and graphs without such operations, are not warned of") {
  {
    Net net;
    Session session;
    session.run(global_variables_initializer());
    CHECK(warnings_after(30, [&](int) { session.run(net.loss); }) == 0);
  }
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {2}, {.initializer = ones_initializer()});
  const Operation step = train::GradientDescentOptimizer(0.1).minimize(reduce_sum(w));
  Session session;
  session.run(global_variables_initializer());
  CHECK(warnings_after(30, [&](int) { session.run(step); }) == 0);
}

}  // namespace
}  // namespace towerflow
