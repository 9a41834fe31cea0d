// What branches and loops do in a run, beyond their results.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "core/graph/control_flow.h"
#include "ops/control/control_flow_ops.h"
#include "tests/control/programs.h"
#include "tests/support/eager.h"
#include "tests/support/started_runs.h"

namespace towerflow::testing {
namespace {

TEST_CASE("a branch that is not taken runs nothing") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = scalar("p", bool_), x = scalar("x");
  const Tensor y = cond(
      p,
      [&] {
        const Operation check = Assert(x > 0.0, {"x must be positive", x});
        const auto after = control_dependencies({check});
        return identity(x);
      },
      [&] { return x * 2.0; });
  Session session;
  CHECK(session.run(y, {{p, true}, {x, 3.0F}}).item<float>() == 3.0F);
  CHECK(session.run(y, {{p, false}, {x, -3.0F}}).item<float>() == -6.0F);
  CHECK_THROWS_AS(session.run(y, {{p, true}, {x, -3.0F}}), errors::InvalidArgumentError);
}

TEST_CASE("what enters a loop can be fetched, with its result and without it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = scalar("x");
  const Tensor z =
      while_loop([](Tensor u) { return u < 10.0; }, [&](Tensor u) { return u * 2.0 + x; }, x * 3.0);
  Session session;
  const Tensor entered = graph.get_tensor_by_name("while/Enter:0");
  CHECK(session.run(entered, {{x, 1.0F}}).item<float>() == 3.0F);
  const std::vector<Array> both = session.run(std::vector<Fetch>{entered, z}, {{x, 1.0F}});
  CHECK(both[0].item<float>() == 3.0F);
  CHECK(both[1].item<float>() == 15.0F);
}

TEST_CASE("a loop reads a variable that it writes at each place anew") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {}, {.initializer = constant_initializer(1.5)});
  // The condition and the body read the variable as it is, as in TensorFlow.
  const Tensor counted = while_loop([&](Tensor) { return w < 5.0F; },
                                    [&](Tensor i) {
                                      const Tensor u = assign_add(w, 1.0F);
                                      const auto after = control_dependencies({u});
                                      return i + 1;
                                    },
                                    constant(0), {.maximum_iterations = 20});
  const Tensor seen = while_loop([](Tensor x) { return x < 10.0F; },
                                 [&](Tensor x) {
                                   const Tensor u = assign_add(w, x);
                                   const auto after = control_dependencies({u});
                                   return x + w;
                                 },
                                 constant(1.0F));
  Session session;
  session.run(w.initializer());
  CHECK(session.run(counted).item<std::int32_t>() == 4);
  CHECK(session.run(w).item<float>() == 5.5F);
  session.run(w.initializer());
  CHECK(session.run(seen).item<float>() == 25.0F);  // 1 + 2.5 + 6 + 15.5
}

TEST_CASE("a loop waits for what its constants wait for") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = scalar("x");
  const Variable v = get_variable("v", {}, {.initializer = constant_initializer(1.0)});
  const Operation negative = assert_less(x, 0.0F);
  const Tensor write = assign(v, 3.0F);
  const Tensor factor = [&] {
    const auto after = control_dependencies({negative, write.op()});
    return constant(2.0F);
  }();
  const Tensor y =
      while_loop([](Tensor u) { return abs(u) < 10.0F; }, [&](Tensor u) { return u * factor; }, x);
  Session session;
  session.run(v.initializer());
  CHECK(session.run(y, {{x, -3.0F}}).item<float>() == -12.0F);
  CHECK(session.run(v).item<float>() == 3.0F);
  CHECK_THROWS_AS(session.run(y, {{x, 3.0F}}), errors::InvalidArgumentError);
}

TEST_CASE("an optimizer in a loop makes steps that follow each other") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {}, {.initializer = constant_initializer(1.0)});
  train::GradientDescentOptimizer opt(0.25);
  const Tensor steps = while_loop([](Tensor i) { return i < 3; },
                                  [&](Tensor i) {
                                    const Operation step = opt.minimize(square(w));
                                    const auto after = control_dependencies({step});
                                    return i + 1;
                                  },
                                  constant(0));
  Session session;
  session.run(global_variables_initializer());
  CHECK(session.run(steps).item<std::int32_t>() == 3);
  CHECK(session.run(w).item<float>() == 0.125F);
}

TEST_CASE("gradients in a branch inside a loop do not reach what the loop began with") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {}, {.initializer = constant_initializer(1.0)});
  const auto program = [&] {
    return while_loop([](Tensor x) { return x < 10.0F; },
                      [&](Tensor x) {
                        return cond(
                            x < 5.0F, [&] { return x + gradients(square(x), {w})[0]->dense(); },
                            [&] { return x * 2.0F; });
                      },
                      w * 1.0F);
  };
  CHECK_THROWS_WITH_AS(program(), doctest::Contains("Cannot compute gradient inside while loop"),
                       ValueError);
}

TEST_CASE("a condition that is no scalar matters only where it is asked") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor first = scalar("first", bool_), x = scalar("x");
  const Tensor second = placeholder(bool_, {.name = "second"});
  const Tensor y = case_({{first, [&] { return x + 1.0; }}, {second, [&] { return x * 2.0; }}},
                         [&] { return tanh(x); });
  Session session;
  const Feed matrix{second, {{false, false}, {false, false}}};
  CHECK(session.run(y, {{first, true}, matrix, {x, 3.0F}}).item<float>() == 4.0F);
  CHECK_THROWS_AS(session.run(y, {{first, false}, matrix, {x, 3.0F}}),
                  errors::InvalidArgumentError);
}

TEST_CASE("an uninitialized variable matters only in the branch that reads it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = scalar("p", bool_);
  const Variable v = get_variable("v", {}, {.initializer = constant_initializer(1.0)});
  const Tensor y = cond(
      p, [&] { return assign(v, 5.0); }, [&] { return v.read_value(); });
  Session session;
  CHECK_THROWS_AS(session.run(y, {{p, false}}), errors::FailedPreconditionError);
  CHECK(session.run(y, {{p, true}}).item<float>() == 5.0F);
  CHECK(session.run(y, {{p, false}}).item<float>() == 5.0F);
}

TEST_CASE("an error in a loop names the node and the user's line") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor table = constant({1.0, 2.0, 3.0});
  const auto [i, sum] = while_loop([](Tensor k, Tensor) { return k < 5; },
                                   [&](Tensor k, Tensor u) {
                                     const Tensor more = k + 1;
                                     return std::tuple(more, u + gather(table, k));
                                   },
                                   std::tuple(0, 0.0));
  Session session;
  std::string text;
  try {
    session.run(sum);
  } catch (const errors::InvalidArgumentError& error) {
    text = error.what();
  }
  CHECK(text.find("while/GatherV2") != std::string::npos);
  CHECK(text.find("behaviour_test.cc") != std::string::npos);
}

TEST_CASE("an endless loop ends when the session closes") {
  Graph graph;
  const auto guard = graph.as_default();
  const StartedRuns runs;
  const Tensor i =
      while_loop([](Tensor k) { return k >= 0; }, [](Tensor k) { return k * 1; }, runs.mark());
  Session session;
  std::atomic<bool> cancelled{false};
  std::thread runner([&] {
    try {
      session.run(i);
    } catch (const errors::CancelledError&) {
      cancelled = true;
    }
  });
  runs.wait_for(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  session.close();
  runner.join();
  CHECK(cancelled);
}

TEST_CASE("runs of one loop in several threads do not disturb each other") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = scalar("x");
  const auto [i, z] = while_loop([](Tensor k, Tensor) { return k < 6; },
                                 [&](Tensor k, Tensor u) {
                                   const Tensor more = k + 1;
                                   return std::tuple(more, u * x);
                                 },
                                 std::tuple(0, x));
  const Tensor slope = grads(z, {x})[0];
  Session session;
  std::atomic<int> wrong{0};
  const auto check = [&](float value) {
    for (int run = 0; run < 30; ++run) {
      const float found = session.run(slope, {{x, value}}).item<float>();
      float expected = 7;
      for (int k = 0; k < 6; ++k) expected *= value;
      if (std::abs(found - expected) > 1e-5F * expected) ++wrong;
    }
  };
  std::thread other([&] { check(1.5F); });
  check(2.0F);
  other.join();
  CHECK(wrong == 0);
}

TEST_CASE("loops have no second derivatives") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = scalar("x");
  const auto [i, z] = while_loop([](Tensor k, Tensor) { return k < 3; },
                                 [&](Tensor k, Tensor u) {
                                   const Tensor more = k + 1;
                                   return std::tuple(more, u * x);
                                 },
                                 std::tuple(0, x));
  const Tensor slope = grads(z, {x})[0];
  CHECK_THROWS_AS(gradients({slope}, {x}), TypeError);
}

TEST_CASE("why_none looks through branches and leaves the graph as it was") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = scalar("p", bool_), x = scalar("x");
  const Tensor y = cond(
      p, [&] { return x * 2.0; }, [&] { return stop_gradient(x); });
  const auto [i, z] = while_loop([](Tensor k, Tensor) { return k < 3; },
                                 [&](Tensor k, Tensor u) {
                                   const Tensor more = k + 1;
                                   return std::tuple(more, u * x);
                                 },
                                 std::tuple(0, y));
  const std::size_t before = graph.size();
  CHECK(why_none(z, x).cause == NoneCause::connected);
  CHECK(graph.size() == before);
  Session session;
  const Tensor slope = grads(z, {x})[0];
  CHECK(session.run(slope, {{p, true}, {x, 2.0F}}).item<float>() == doctest::Approx(64));
}

TEST_CASE("nest: a structure is taken apart, put together again and mapped") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = scalar("a"), b = scalar("b");
  const auto structure = std::tuple(a, std::vector{b, a}, 2.0);
  CHECK(nest::flatten(structure).size() == 4);
  const auto same = nest::pack_sequence_as(structure, {b, a, b, a});
  CHECK(std::get<1>(same)[1].name() == "b:0");
  const auto doubled = nest::map_structure([](Tensor x) { return x * 2.0; }, structure);
  CHECK(std::get<1>(doubled)[0].op().input(0).name() == "b:0");
  Session session;
  CHECK(session.run(std::get<2>(doubled)).item<float>() == 4.0F);
}

TEST_CASE("the last branch of a case asserts that no other predicate holds") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = Shape{}});
  case_without_default<Tensor>(
      {{less(x, 1.0), [&] { return x; }}, {less(x, 2.0), [&] { return 2.0 * x; }}});
  std::vector<int> limits;
  for (const Operation& op : graph.get_operations()) {
    if (!op.name().ends_with("n_true_conds")) continue;
    limits.push_back(constant_value(op.output(0)).item<std::int32_t>());
  }
  CHECK(limits == std::vector<int>{0});
}

TEST_CASE("what stands in branches of two conditions runs only if one of them takes it") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = placeholder(bool_, {.shape = Shape{}}),
               q = placeholder(bool_, {.shape = Shape{}});
  const Tensor y = placeholder(int32, {.shape = Shape{}});
  const auto quotient = [&] { return floordiv(10, y); };  // fails for 0
  const auto one = [&] { return convert_to_tensor(1); };
  const Tensor a = cond(p, one, quotient), b = cond(q, quotient, one);
  Session session(graph);
  const auto run = [&](bool first, bool second, int divisor) {
    const auto got = session.run({a, b}, {{p, first}, {q, second}, {y, divisor}});
    return std::pair(got[0].item<std::int32_t>(), got[1].item<std::int32_t>());
  };
  CHECK(run(true, false, 0) == std::pair(1, 1));
  CHECK(run(false, false, 5) == std::pair(2, 1));
  CHECK(run(true, true, 5) == std::pair(1, 2));
  CHECK(run(false, true, 5) == std::pair(2, 2));
  CHECK_THROWS_AS(run(false, false, 0), errors::InvalidArgumentError);
  CHECK_THROWS_AS(run(true, true, 0), errors::InvalidArgumentError);
}

TEST_CASE("a y that leads to another y through a loop") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(3.0), y = x * 2.0;
  const auto [count, z] =
      while_loop([](Tensor i, Tensor) { return less(i, 3); },
                 [](Tensor i, Tensor value) { return std::tuple(i + 1, value * 2.0); },
                 std::tuple(constant(0), y));
  CHECK(value_of(convert_to_tensor(*gradients({y, z}, {x})[0])).item<float>() == 18);
  CHECK(value_of(convert_to_tensor(*gradients({z, y}, {x})[0])).item<float>() == 18);
}

TEST_CASE("gradients of a loop in a loop may wait for something outside") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = scalar("x"), awaited = constant(1.0);
  const Tensor y = std::get<1>(while_loop(
      [](Tensor i, Tensor) { return less(i, 2); },
      [&](Tensor i, Tensor a) {
        const auto inner =
            while_loop([](Tensor j, Tensor) { return less(j, 2); },
                       [&](Tensor j, Tensor d) { return std::tuple(j + 1, tanh(d) * x); },
                       std::tuple(constant(0), a * x));
        return std::tuple(i + 1, std::get<1>(inner));
      },
      std::tuple(constant(0), x)));
  const OptionalGradient alone = gradients(y, {x})[0];
  OptionalGradient waiting;
  {
    const auto after = control_dependencies({awaited});
    waiting = gradients(y, {x})[0];
  }
  for (const Operation& node : graph.get_operations()) {
    for (const Operation& other : node.control_inputs()) CHECK(other.valid());
  }
  Session session;
  const auto run = [&](const OptionalGradient& gradient) {
    return session.run(gradient->dense(), {{x, 0.7F}}).item<float>();
  };
  CHECK(run(alone) != 0);
  CHECK(run(waiting) == run(alone));
}

TEST_CASE("a branch that gives a variable, beside one that gives a value") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable v = get_variable("v", {2}, {.initializer = zeros_initializer()});
  const Tensor p = scalar("p", bool_);
  const Tensor assigned = assign(v, {1.0, 2.0});
  const Tensor either = cond(
      p,
      [] {
        return constant({3.0, 4.0});
      },
      [&] { return assigned; });
  CHECK_FALSE(either.is_ref());
  const Tensor twice = cond(
      p, [&] { return either * 2.0; }, [&] { return -either; });
  CHECK(GraphDef::FromString(graph.as_graph_def().SerializeToString()).node.size() == graph.size());
  Session session;
  CHECK(session.run(twice, {{p, true}}).data<float>()[1] == 8);
  CHECK(session.run(twice, {{p, false}}).data<float>()[1] == -2);
}

TEST_CASE("a Merge of two unrelated Switches is absent if neither has a value") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor p = scalar("p", bool_), q = scalar("q", bool_), x = scalar("x"), y = scalar("y");
  const Tensor unless_p = switch_beside(x, p, {}).first;
  const Tensor if_q = switch_beside(y, q, {}).second;
  const Tensor either = merge({unless_p, if_q}, "", {});
  Session session;
  const auto run = [&](bool first, bool second) {
    return session.run(either, {{p, first}, {q, second}, {x, 1.0F}, {y, 2.0F}}).item<float>();
  };
  CHECK(run(false, false) == 1);
  CHECK(run(true, true) == 2);
  CHECK_THROWS_AS(run(true, false), errors::InvalidArgumentError);
}

}  // namespace
}  // namespace towerflow::testing
