// The messages of compute_gradients and apply_gradients about the variables they are given.
#include <doctest/doctest.h>

#include "core/graph/log.h"
#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

/// Collects the log lines written during its lifetime.
struct Log {
  Log()
      : before(
            set_log_sink([this](LogLevel, std::string_view text) { lines.emplace_back(text); })) {}
  ~Log() { set_log_sink(before); }
  std::vector<std::string> lines;
  LogSink before;
};

/// Returns the hint of the error that `call` throws.
template <class Raised, class Call>
std::string hint_of(const Call& call) {
  try {
    call();
  } catch (const Raised& error) {
    return error.detail().hint;
  }
  FAIL("nothing was raised");
  return "";
}

/// Makes two layers with four variables each in a name scope and returns their loss.
Tensor two_layers() {
  const auto tower = name_scope("tower_0");
  Tensor sum = constant(0.0f);
  for (const char* layer : {"conv1", "conv2"}) {
    const auto scope = variable_scope(layer);
    for (const char* name : {"weights", "biases", "scale", "shift"}) {
      sum = sum + reduce_sum(tf::square(get_variable(name, Shape{2})));
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("an empty var_list from a filter says which filter it was and which would match") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor loss = two_layers();
  train::GradientDescentOptimizer opt(0.1f);
  const std::string wanted =
      "var_list: collection 'trainable_variables' with scope 'tower_0': 0 of 8 matched; name "
      "scopes do not apply to get_variable; the filter 'conv1' would match 4";
  CHECK(hint_of<ValueError>([&] {
          opt.compute_gradients(
              loss, {.var_list = get_collection<Variable>("trainable_variables", "tower_0")});
        }) == wanted);
  CHECK(hint_of<ValueError>(
            [&] { opt.minimize(loss, {.var_list = trainable_variables("tower_0")}); }) == wanted);
  // The hint suggests the filter without the tower's prefix.
  CHECK(hint_of<ValueError>([&] {
          opt.compute_gradients(loss, {.var_list = trainable_variables("tower_0/conv2")});
        }).find("the filter 'conv2' would match 4") != std::string::npos);
  CHECK(hint_of<ValueError>([&] {
          opt.compute_gradients(loss, {.var_list = get_collection<Variable>("mine", "conv1")});
        }) == "var_list: collection 'mine' with scope 'conv1' is empty");
  CHECK(hint_of<ValueError>([&] {
          opt.compute_gradients(loss, {.var_list = std::vector<Variable>{}});
        }) == "var_list is empty");
  auto emptied = trainable_variables();
  emptied.clear();
  CHECK(hint_of<ValueError>([&] { opt.compute_gradients(loss, {.var_list = emptied}); }) ==
        "var_list: collection 'trainable_variables': 8 of 8 matched, but they are no longer in the "
        "list");
  CHECK(opt.compute_gradients(loss).size() == 8);
  CHECK(opt.compute_gradients(loss, {.var_list = trainable_variables("conv1")}).size() == 4);
}

TEST_CASE("without any variable") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(0.1f);
  CHECK(hint_of<ValueError>([&] {
          opt.compute_gradients(constant(1.0f));
        }).find("tf::get_variable") != std::string::npos);
}

TEST_CASE("a variable of another graph in var_list") {
  Graph graph, elsewhere;
  Variable far;
  {
    const auto guard = elsewhere.as_default();
    far = get_variable("far", Shape{2});
  }
  const auto guard = graph.as_default();
  const Tensor loss = two_layers();
  train::GradientDescentOptimizer opt(0.1f);
  CHECK_THROWS_WITH_AS(opt.compute_gradients(loss, {.var_list = std::vector<Variable>{far}}),
                       doctest::Contains("far:0 must be from the same graph"), ValueError);
}

TEST_CASE("a variable twice gets its gradient twice, is updated twice, and is warned of") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(3.0f, {.name = "w"}), v(1.0f, {.name = "v"});
  const Tensor loss = tf::square(w) + v;
  train::GradientDescentOptimizer opt(0.25f);
  Log log;
  const auto pairs = opt.compute_gradients(loss, {.var_list = std::vector<Variable>{w, v, w}});
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].grad == pairs[2].grad);
  REQUIRE(log.lines.size() == 1);
  CHECK(log.lines[0].find("'w:0' occurs 2 times in var_list") != std::string::npos);
  const Operation train = opt.apply_gradients(pairs);
  REQUIRE(log.lines.size() == 2);
  CHECK(log.lines[1].find("'w:0' occurs 2 times in apply_gradients") != std::string::npos);
  Session session;
  session.run(global_variables_initializer());
  session.run(train);
  CHECK(numbers(session.run(w.value())) == std::vector<double>{0});  // 3 - 2 * 0.25 * 6
  CHECK(numbers(session.run(v.value())) == std::vector<double>{0.75});
}

TEST_CASE("minimize without gradients says why, for the first variables") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(3.0f, {.name = "w"}), v(1.0f, {.name = "v"});
  train::GradientDescentOptimizer opt(0.25f);
  const Tensor loss = tf::stop_gradient(w * 2.0f, {.name = "frozen"});
  const std::string hint = hint_of<ValueError>([&] { opt.minimize(loss); });
  CHECK(hint.find("cut at the stop_gradient 'frozen'") != std::string::npos);
  CHECK(hint.find("with respect to x = v:0") != std::string::npos);
}

TEST_CASE("gate_gradients: GATE_GRAPH holds all gradients back, under names beside the call") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(3.0f, {.name = "w"}), v(1.0f, {.name = "v"}), unused(1.0f, {.name = "unused"});
  train::GradientDescentOptimizer opt(0.25f);
  const Tensor loss = w * v;
  const auto pairs = opt.compute_gradients(loss, {.gate_gradients = train::GATE_GRAPH});
  CHECK(pairs[0].grad->name() == "tuple/control_dependency:0");
  CHECK(pairs[1].grad->name() == "tuple/control_dependency_1:0");
  CHECK_FALSE(pairs[2].grad);
  CHECK(graph.get_operation_by_name("tuple/group_deps").control_inputs().size() == 2);
  CHECK(graph.name_in_use("gradients/mul_grad/Mul"));
  CHECK_FALSE(graph.name_in_use("gradients/mul_grad/tuple/group_deps"));
  opt.compute_gradients(loss);
  CHECK(graph.name_in_use("gradients_1/mul_grad/tuple/group_deps"));
  CHECK_THROWS_AS(opt.compute_gradients(loss, {.var_list = std::vector<Variable>{unused},
                                               .gate_gradients = train::GATE_GRAPH}),
                  ValueError);
  CHECK_THROWS_AS(opt.compute_gradients(loss, {.gate_gradients = 3}), ValueError);
}

TEST_CASE("a var_list in braces") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w = get_variable("w", {2});
  const Variable b = get_variable("b", {2});
  const Tensor loss = reduce_sum(w * b);
  train::GradientDescentOptimizer opt(0.1f);
  const auto one = opt.compute_gradients(loss, {.var_list = {b}});
  REQUIRE(one.size() == 1);
  CHECK(one[0].var.name() == "b:0");
  CHECK(opt.compute_gradients(loss, {.var_list = {b, w}}).size() == 2);
  CHECK(opt.compute_gradients(loss, {.var_list = {}}).size() == 2);
}
