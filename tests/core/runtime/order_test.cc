// A run behaves as if its nodes ran one after another in the order of the tape, whatever the plan.
#include <doctest/doctest.h>

#include "core/graph/constant.h"
#include "core/runtime/session.h"
#include "ops/array/constant.h"
#include "ops/array/placeholder.h"
#include "ops/array/view.h"
#include "ops/control/group.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/relu.h"
#include "ops/variables/assign.h"
#include "ops/variables/variable.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

Variable counter(float value) { return Variable(Operand(Array::scalar(value)), {.name = "w"}); }

}  // namespace

TEST_CASE("order: a read placed before a write sees the old value, one after it the new") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = counter(1.0f);
  const Tensor before = identity(w);
  const Tensor added = assign_add(w, 2.0f);
  Tensor after;
  {
    const auto control = control_dependencies({added});
    after = identity(w.ref());
  }
  Session session;
  session.run(w.initializer());
  const auto [b, a, last] = session.run({before, after, w});
  CHECK(b.item<float>() == 1.0f);
  CHECK(a.item<float>() == 3.0f);
  CHECK(last.item<float>() == 3.0f);
}

TEST_CASE("order: what reads a variable does so at its own place, not where `w/read` stands") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = counter(1.0f);
  const Tensor added = assign_add(w, 2.0f);
  Tensor after, waited;
  {
    const auto control = control_dependencies({added});
    after = w + 0.0f;
    waited = w.read_value();
  }
  const Tensor again = assign_add(w, 10.0f);
  const Tensor later = waited * 1.0f;
  const Tensor last = w * 1.0f;
  Session session;
  session.run(w.initializer());
  CHECK(session.run(after).item<float>() == 3.0f);
  session.run(w.initializer());
  const auto [a, b, c, unused] = session.run({after, later, last, again});
  CHECK(a.item<float>() == 3.0f);
  CHECK(b.item<float>() == 3.0f);
  CHECK(c.item<float>() == 13.0f);
}

TEST_CASE("order: a write does not see itself through the variable's read") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(Operand(Array::of<float>(Shape{3}, std::vector<float>{1, 2, 4})), {.name = "w"});
  const Tensor rows = scatter_add(w, {2, 0, 2}, w);
  Session session;
  session.run(w.initializer());
  const Array got = session.run(rows);
  CHECK(std::vector<float>(got.flat<float>().begin(), got.flat<float>().end()) ==
        std::vector<float>{3, 2, 9});
}

TEST_CASE("order: ops that the planner joins read their variables where each stands") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(Operand(Array::of<float>(Shape{1, 1}, std::vector<float>{2})), {.name = "w"});
  const Variable b(Operand(Array::of<float>(Shape{1}, std::vector<float>{1})), {.name = "b"});
  const Tensor x = constant(Array::of<float>(Shape{1, 1}, std::vector<float>{3}));
  const Tensor product = matmul(x, w);
  const Tensor changed = assign(w, Array::of<float>(Shape{1, 1}, std::vector<float>{100}));
  const Tensor y = nn::relu(product + b);
  const Variable k(Operand(Array::of<float>(Shape{1, 1, 1, 1}, std::vector<float>{2})),
                   {.name = "k"});
  const Tensor image = constant(Array::of<float>(Shape{1, 1, 1, 1}, std::vector<float>{3}));
  const Tensor conv = nn::conv2d(image, k, {1, 1, 1, 1}, "SAME");
  const Tensor other = assign(k, Array::of<float>(Shape{1, 1, 1, 1}, std::vector<float>{100}));
  const Tensor z = nn::relu(nn::bias_add(conv, b));
  Session session;
  session.run(global_variables_initializer());
  const auto [dense, convolved, first, second] = session.run({y, z, changed, other});
  CHECK(dense.item<float>() == 7.0f);
  CHECK(convolved.item<float>() == 7.0f);
}

TEST_CASE("order: a view of a variable that is written while it is looked through is a copy") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(Operand(Array::of<float>(Shape{2}, std::vector<float>{1, 2})), {.name = "w"});
  const Tensor view = reshape(w, {2, 1});
  const Tensor added = assign_add(w, Array::of<float>(Shape{2}, std::vector<float>{10, 10}));
  const Tensor flat = reshape(view, {-1});
  Session session;
  session.run(w.initializer());
  const auto [values, unused] = session.run({flat, added});
  CHECK(values.flat<float>()[0] == 1.0f);
  CHECK(values.flat<float>()[1] == 2.0f);
}

TEST_CASE(
    "order: an uninitialised variable is a typed error that names it, and the session goes on") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = counter(4.0f);
  Session session;
  try {
    session.run(identity(w));
    FAIL("no error");
  } catch (const errors::FailedPreconditionError& error) {
    CHECK(error.message() == "Attempting to use uninitialized value w");
  }
  session.run(w.initializer());
  CHECK(session.run(w).item<float>() == 4.0f);
}

TEST_CASE("order: fetched results are the caller's own") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = counter(1.0f);
  const Tensor twice = identity(identity(w));
  const Operation add = assign_add(w, 1.0f).op();
  Session session;
  session.run(w.initializer());
  const Array first = session.run(twice);
  const Array direct = session.run(w);
  session.run(add);
  CHECK(first.item<float>() == 1.0f);
  CHECK(direct.item<float>() == 1.0f);
  CHECK(session.run(twice).item<float>() == 2.0f);
}

TEST_CASE("order: read_value has its own place, whatever it waits for and whoever asks") {
  for (const bool drop_unread : {true, false}) {
    CAPTURE(drop_unread);
    Graph graph;
    const auto guard = graph.as_default();
    const Variable v = tf::get_variable("v", {}, {.initializer = tf::zeros_initializer()});
    const Tensor old = v.read_value();
    const Tensor pure = tf::tanh(v + 1.0);
    const Tensor awaiting = [&] {
      const auto wait = tf::control_dependencies({Fetch(pure)});
      return v.read_value();
    }();
    const Tensor added = tf::assign_add(v, 5.0);
    const Tensor snapshot = old * 10.0, second = awaiting * 10.0;
    ConfigProto config;
    config.passes.drop_unread = drop_unread;
    Session session(config);
    session.run(v.initializer());
    CHECK(session.run({snapshot, added})[0].item<float>() == 0.0F);
    CHECK(session.run({second, added})[0].item<float>() == 50.0F);
    const auto all = session.run({snapshot, second, old, added});
    for (const int i : {0, 1}) CHECK(all[static_cast<std::size_t>(i)].item<float>() == 100.0F);
  }
}

TEST_CASE("order: a fed placeholder may be waited for") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = placeholder(float32, {.shape = {2}});
  const Tensor other = placeholder(float32, {.shape = {2}});
  const auto after = control_dependencies({x, other});
  const Tensor y = identity(constant(3.0f));
  const Operation all = group({y, x});
  Session session(graph);
  const Array value = Array::zeros(float32, {2});
  CHECK(session.run(y, {{x, value}, {other, value}}).item<float>() == 3.0f);
  CHECK(session.run(all, {{x, value}, {other, value}}).empty());
  CHECK_THROWS_AS(session.run(y, {{x, value}}), const errors::InvalidArgumentError&);
}

TEST_CASE("order: the place of an operation holds an empty Array") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = counter(1.0f);
  const Operation both = group({w.initializer()});
  Session session;
  const auto [nothing] = session.run({both});
  CHECK(nothing.empty());
}

TEST_CASE("session: closed, foreign graphs, feeds that do not fit") {
  Graph graph, other;
  const auto guard = graph.as_default();
  const Tensor x = make_constant(graph, Array::scalar(1.0f), "x", Site::current());
  Session session, elsewhere(other);
  CHECK_THROWS_AS(elsewhere.run(x), ValueError);
  CHECK_THROWS_AS(session.run(x, {{x, Array(DType::string, Shape{})}}), TypeError);
  CHECK_THROWS_AS(session.run(x, {{x, {1.0f, 2.0f}}}), ValueError);
  CHECK(session.run(x, {{x, 5.0f}}).item<float>() == 5.0f);
  session.close();
  CHECK_THROWS_AS(session.run(x), RuntimeError);
}

TEST_CASE("session: two logical CPUs run one plan with two queues") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = counter(1.0f);
  std::vector<Fetch> fetches;
  for (const char* name : {"/cpu:0", "/cpu:1", "/gpu:1"}) {
    const auto on = device(name);
    const Tensor own = make_constant(graph, Array::scalar(2.0f), "c", Site::current());
    const Variable slot(Operand(own), {.name = "slot"});
    fetches.push_back(slot.initializer());
    fetches.push_back(assign_add(slot, identity(w)));
  }
  Session session({.device_count = {{"CPU", 2}}, .allow_soft_placement = true});
  session.run(w.initializer());
  std::vector<Fetch> initializers, sums;
  for (std::size_t i = 0; i < fetches.size(); i += 2) {
    initializers.push_back(fetches[i]);
    sums.push_back(fetches[i + 1]);
  }
  session.run(initializers);
  for (int step = 1; step <= 50; ++step) {
    for (const Array& sum : session.run(sums))
      CHECK(sum.item<float>() == 2.0f + static_cast<float>(step));
  }
}

TEST_CASE("session: without soft placement a device that does not exist is an error") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto on = device("/gpu:0");
  const Variable w = counter(1.0f);
  Session session;
  CHECK_THROWS_AS(session.run(w.initializer()), errors::InvalidArgumentError);
}

TEST_CASE("order: the gradient of a large matrix is computed after the rest of the backward pass") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto normal = [](int seed) {
    return tf::random_normal_initializer({.stddev = 0.1, .seed = seed});
  };
  const Tensor x = tf::random_normal({8, 16}, {.seed = 1});
  const Variable below = tf::get_variable("below", {16, 512}, {.initializer = normal(2)});
  const Variable large = tf::get_variable("large", {512, 1024}, {.initializer = normal(3)});
  const Tensor hidden = tf::nn::relu(matmul(x, below));
  const Tensor loss = tf::reduce_sum(tf::square(matmul(hidden, large)));
  tf::train::GradientDescentOptimizer optimizer(0.01);
  const Operation step = optimizer.minimize(loss);
  Session session;
  session.run(global_variables_initializer());
  const Fetch fetch = step;
  const std::string plan = session.plan_report({&fetch, 1}, {});
  const std::size_t of_large = plan.find("gradients/MatMul_1_grad/MatMul_1:");
  const std::size_t of_below = plan.find("gradients/MatMul_grad/MatMul_1:");
  REQUIRE(of_large != std::string::npos);
  REQUIRE(of_below != std::string::npos);
  CHECK(of_below < of_large);
  CHECK(of_large < plan.find("GradientDescent/update_large/ApplyGradientDescent:"));
}
