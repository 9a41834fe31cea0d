// Sessions that are the default of a thread, and what uses them.
#include <doctest/doctest.h>

#include <thread>

#include "core/graph/log.h"
#include "towerflow/tf.h"

namespace towerflow {
namespace {

TEST_CASE("eval and run use the default session") {
  Graph graph;
  const auto graph_guard = graph.as_default();
  const Tensor x = placeholder(float32, Shape{2}, {.name = "x"});
  const Variable v = get_variable("v", {2}, {.initializer = ones_initializer()});
  const Tensor sum = x + v;
  CHECK(get_default_session() == nullptr);
  CHECK_THROWS_AS(sum.eval({{x, {1.0, 2.0}}}), const ValueError&);
  Session session;
  {
    const auto guard = session.as_default();
    CHECK(get_default_session() == &session);
    v.initializer().run();
    CHECK(sum.eval({{x, {1.0, 2.0}}}).data<float>()[1] == 3);
    CHECK(v.eval().data<float>()[0] == 1);
    const Operation doubled = v.assign(v + v).op();
    doubled.run();
    CHECK(v.value().eval().data<float>()[0] == 2);
    std::thread([] { CHECK(get_default_session() == nullptr); }).join();
    Session inner;
    {
      const auto inner_guard = inner.as_default();
      CHECK(get_default_session() == &inner);
      CHECK_THROWS_AS(v.eval(), const errors::FailedPreconditionError&);
      CHECK(v.eval(session).data<float>()[0] == 2);
      CHECK(sum.eval({{x, {1.0, 2.0}}}, &session).data<float>()[0] == 3);
      doubled.run({}, &session);
    }
    CHECK(get_default_session() == &session);
    CHECK(v.eval().data<float>()[0] == 4);
  }
  CHECK(get_default_session() == nullptr);
}

TEST_CASE("a session of another graph is refused with the line of the call") {
  Graph graph, other;
  const auto graph_guard = graph.as_default();
  const Tensor one = constant(1);
  Session session(other);
  const auto guard = session.as_default();
  CHECK_THROWS_WITH_AS(one.eval(),
                       doctest::Contains("Cannot use the default session to evaluate tensor"),
                       const ValueError&);
  CHECK_THROWS_WITH_AS(one.op().run(session), doctest::Contains("default_session_test.cc"),
                       const ValueError&);
}

TEST_CASE("an interactive session is the default until it is closed") {
  int warnings = 0;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view) { ++warnings; });
  {
    Graph graph;
    InteractiveSession outer(graph);
    CHECK(&get_default_graph() == &graph);
    CHECK(get_default_session() == &outer);
    CHECK(constant(3).eval().item<int>() == 3);
    CHECK(warnings == 0);
    {
      InteractiveSession inner;
      CHECK(warnings == 1);
      CHECK(get_default_session() == &inner);
      CHECK(constant(4).eval().item<int>() == 4);
      inner.close();
      CHECK(get_default_session() == &outer);
      inner.close();
    }
    CHECK(get_default_session() == &outer);
    outer.close();
    CHECK(get_default_session() == nullptr);
    CHECK(&get_default_graph() != &graph);
  }
  InteractiveSession next;
  CHECK(warnings == 1);
  set_log_sink(before);
}

}  // namespace
}  // namespace towerflow
