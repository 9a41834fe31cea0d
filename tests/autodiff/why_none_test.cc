// Every cause that why_none knows, in a graph of two towers, with the node it names.
#include "autodiff/why_none.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "core/graph/op_def.h"
#include "towerflow/tf.h"

using namespace towerflow;

namespace {

/// Two towers over shared variables. Each has placeholders x and ids, and hidden = tanh(x * w).
struct Towers {
  struct Tower {
    Tensor x, ids, hidden;
  };

  Towers() : guard(graph.as_default()) {
    w = get_variable("w", Shape{});
    other = get_variable("other", Shape{2});
    for (int i = 0; i < 2; ++i) {
      const auto scope = name_scope(fmt::format("tower_{}", i));
      Tower tower;
      tower.x = placeholder(DType::float32, {.shape = {None}, .name = "x"});
      tower.ids = placeholder(DType::int32, {.shape = {None}, .name = "ids"});
      tower.hidden = tf::tanh(tower.x * w, {.name = "hidden"});
      towers.push_back(tower);
    }
  }

  /// Checks cause and nodes of the answer, and that the graph is unchanged. Returns the answer.
  WhyNone check(const Tensor& y, const GradientTarget& x, NoneCause cause, const std::string& node,
                const std::string& towards_x, const std::string& towards_y,
                const WhyNoneOptions& options = {}) {
    const std::size_t before = graph.size();
    const WhyNone why = why_none(y, x, options);
    CAPTURE(why.text);
    CHECK(cause_name(why.cause) == std::string(cause_name(cause)));
    CHECK(why.node.name() == node);
    CHECK((why.towards_x ? why.towards_x.name() : "") == towards_x);
    CHECK((why.towards_y ? why.towards_y.name() : "") == towards_y);
    CHECK(why.connected() == (cause == NoneCause::connected));
    CHECK(why.text.find(node) != std::string::npos);
    CHECK(why.text.find(towards_y) != std::string::npos);
    CHECK(graph.size() == before);
    if (&y.graph() == &x.tensor().graph() && cause != NoneCause::not_in_var_list) {
      const auto found = gradients({y}, {x}, {.stop_gradients = options.stop_gradients});
      CHECK(found[0].has_value() == why.connected());
    }
    return why;
  }

  Graph graph;
  DefaultGraphGuard guard;
  Variable w, other;
  std::vector<Tower> towers;
};

}  // namespace

TEST_CASE("why_none: connected") {
  Towers t;
  t.check(t.towers[0].hidden, t.w, NoneCause::connected, "tower_0/hidden", "w", "");
  t.check(t.towers[1].hidden, t.towers[1].x, NoneCause::connected, "tower_1/hidden", "tower_1/x",
          "");
  t.check(t.towers[0].ids, t.towers[0].ids, NoneCause::connected, "tower_0/ids", "tower_0/ids", "");
}

TEST_CASE("why_none: cut at a stop_gradient, the nearest nodes on both sides named") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor target = tf::stop_gradient(tf::square(t.towers[0].hidden, {.name = "sq"}));
  const Tensor loss = tf::add(target, 1.0f, {.name = "loss"});
  const WhyNone why = t.check(loss, t.w, NoneCause::stop_gradient, "tower_0/StopGradient",
                              "tower_0/sq", "tower_0/loss");
  CHECK(why.text.find("why_none_test.cc") != std::string::npos);  // the file that created the node
}

TEST_CASE("why_none: cut at an integer or boolean cast") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor hidden = t.towers[0].hidden;
  const Tensor whole = tf::cast(hidden, DType::int32, {.name = "whole"});
  const Tensor loss = tf::cast(whole, DType::float32, {.name = "loss"});
  t.check(loss, t.w, NoneCause::integer, "tower_0/whole", "tower_0/hidden", "tower_0/loss");
  t.check(whole, t.w, NoneCause::integer, "tower_0/whole", "tower_0/hidden", "");
  const Tensor truth = tf::cast(hidden, DType::bool_, {.name = "truth"});
  const Tensor other = tf::cast(truth, DType::float32, {.name = "other"});
  t.check(other, t.w, NoneCause::integer, "tower_0/truth", "tower_0/hidden", "tower_0/other");
  // x itself has integers and is cast.
  const Tensor floats = tf::cast(t.towers[0].ids, DType::float32, {.name = "floats"});
  t.check(hidden * floats, t.towers[0].ids, NoneCause::integer, "tower_0/floats", "tower_0/ids",
          "tower_0/mul_1");
}

TEST_CASE("why_none: cut at an op without a gradient, with its reason") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor hidden = t.towers[0].hidden;
  const Tensor loss = tf::add(tf::floor(hidden, {.name = "floor"}), 1.0f, {.name = "loss"});
  const WhyNone why = t.check(loss, t.w, NoneCause::no_gradient_op, "tower_0/floor",
                              "tower_0/hidden", "tower_0/loss");
  CHECK(why.reason == "it is piecewise constant");
  CHECK(why.text.find(why.reason) != std::string::npos);
  // argmax returns integers, but the op is named, not its dtype.
  const Tensor best = tf::argmax(hidden, 0, {.name = "best"});
  const Tensor as_float = tf::cast(best, DType::float32, {.name = "as_float"});
  CHECK(t.check(as_float, t.w, NoneCause::no_gradient_op, "tower_0/best", "tower_0/hidden",
                "tower_0/as_float")
            .reason == "an index is an integer");
}

TEST_CASE("why_none: an op whose gradient nobody has defined is a cause, not an error") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const auto guard = t.graph.gradient_override_map({{"Relu", "NobodyHasThis"}});
  const Tensor loss = tf::nn::relu(t.towers[0].hidden, {.name = "loss"});
  const WhyNone why = why_none(loss, t.w);
  CHECK(why.cause == NoneCause::no_gradient_op);
  CHECK(why.node.name() == "tower_0/loss");
  CHECK(why.reason.find("NobodyHasThis") != std::string::npos);
  CHECK_THROWS_AS(gradients({loss}, {t.w}), LookupError);
}

TEST_CASE("why_none: a gradient of the program that gives nothing for an input") {
  Towers t;
  const auto first_only = custom_gradient([](const Tensor& a, const Tensor& b) {
    const auto grad = [](const Tensor& dy) {
      return std::vector<OptionalGradient>{Gradient(dy), std::nullopt};
    };
    return std::pair(a * b, grad);
  });
  const Tensor loss = first_only(t.towers[0].hidden, t.w);
  const WhyNone why = t.check(loss, t.w.value(), NoneCause::connected, "IdentityN", "w/read", "");
  const Tensor only = first_only(t.towers[0].x, t.other);
  t.check(only, t.other, NoneCause::no_gradient_op, "IdentityN_1", "mul_1", "");
}

TEST_CASE("why_none: left out by a var_list") {
  Towers t;
  const WhyNoneOptions listed{.var_list = get_collection<Variable>("trainable_variables", "other")};
  const WhyNone why =
      t.check(t.towers[0].hidden, t.w, NoneCause::not_in_var_list, "w", "", "", listed);
  CHECK(why.text.find("'trainable_variables' with scope 'other'") != std::string::npos);
  t.check(t.towers[0].hidden, t.w, NoneCause::not_in_var_list, "w", "", "",
          {.var_list = std::vector<Variable>{t.other}});
  t.check(t.towers[0].hidden, t.w, NoneCause::connected, "tower_0/hidden", "w", "",
          {.var_list = std::vector<Variable>{t.w}});
}

TEST_CASE("why_none: a variable of another graph") {
  Towers t;
  Graph elsewhere;
  Variable far;
  {
    const auto guard = elsewhere.as_default();
    far = get_variable("w", Shape{2});
  }
  const WhyNone why = t.check(t.towers[0].hidden, far, NoneCause::other_graph, "w", "", "");
  CHECK(why.text.find("another graph") != std::string::npos);
  CHECK(&why.node.graph() == &elsewhere);
  CHECK_THROWS_AS(gradients({t.towers[0].hidden}, {far}), ValueError);
}

TEST_CASE("why_none: made in another tower, the twin named") {
  Towers t;
  t.check(t.towers[0].hidden, t.towers[1].x, NoneCause::other_tower, "tower_1/x", "tower_1/hidden",
          "tower_0/x");
  Towers other;
  other.check(other.towers[1].hidden, other.towers[0].x, NoneCause::other_tower, "tower_0/x",
              "tower_0/hidden", "tower_1/x");
}

TEST_CASE("why_none: layers with numbers are no towers") {
  Towers t;
  const Variable first(1.0f, {.name = "conv1/weights"}), second(2.0f, {.name = "conv2/weights"});
  t.check(second * 3.0f, first, NoneCause::no_path, "conv1/weights", "conv1/weights/read",
          "conv2/weights");
}

TEST_CASE("why_none: reached only through a control edge") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  Tensor waits;
  {
    const auto after = control_dependencies({Fetch(t.towers[0].hidden)});
    waits = tf::identity(t.other, {.name = "waits"});
  }
  const Tensor loss = tf::square(waits, {.name = "loss"});
  t.check(loss, t.towers[0].x, NoneCause::control_edge, "tower_0/waits", "tower_0/hidden",
          "tower_0/loss");
}

TEST_CASE("why_none: through an assignment") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor kept =
      tf::assign(t.other, t.towers[0].hidden, {.validate_shape = false, .name = "keep"});
  // Through the variable, which y reads after the assignment.
  const Tensor loss = tf::square(t.other, {.name = "loss"});
  t.check(loss, t.w, NoneCause::assignment, "tower_0/keep", "tower_0/hidden", "other");
  // Through the assignment's output.
  const Tensor direct = tf::square(kept, {.name = "direct"});
  t.check(direct, t.w, NoneCause::assignment, "tower_0/keep", "tower_0/hidden", "tower_0/direct");
}

TEST_CASE("why_none: through an initial value") {
  Towers t;
  const Variable copy(t.w.initial_value() * 2.0f, {.name = "copy"});
  t.check(copy * 1.0f, t.w.initial_value(), NoneCause::assignment, "copy/Assign", "mul", "copy");
}

TEST_CASE("why_none: through indices or a shape only") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor rows = tf::gather(t.other, t.towers[0].ids, {.name = "rows"});
  t.check(rows, t.towers[0].ids, NoneCause::indices_or_shape, "tower_0/rows", "tower_0/ids", "");
  const Tensor size = tf::size(t.towers[0].hidden, {.name = "size"});
  const Tensor count = tf::cast(size, DType::float32, {.name = "count"});
  t.check(count, t.w, NoneCause::indices_or_shape, "tower_0/size", "tower_0/hidden",
          "tower_0/count");
}

TEST_CASE("why_none: cut by the call's own stop_gradients") {
  Towers t;
  const Tensor loss = tf::square(t.towers[0].hidden, {.name = "loss"});
  t.check(loss, t.w, NoneCause::stop_gradients_argument, "tower_0/hidden", "tower_0/mul", "loss",
          {.stop_gradients = {t.towers[0].hidden}});
  t.check(loss, t.w, NoneCause::connected, "loss", "w", "",
          {.stop_gradients = {t.towers[1].hidden}});
}

TEST_CASE("why_none: y uses no variable, and y that does not use x") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor fed = tf::square(t.towers[0].x, {.name = "fed"});
  t.check(fed, t.w, NoneCause::y_unconnected, "tower_0/fed", "tower_1/hidden", "tower_0/x");
  t.check(t.towers[0].hidden, t.other, NoneCause::no_path, "other", "other/read", "w");
}

TEST_CASE("why_none: of several causes the most telling one") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor hidden = t.towers[0].hidden;
  const Tensor by_size = tf::cast(tf::size(hidden), DType::float32);
  const Tensor loss = tf::floor(hidden) * by_size + tf::stop_gradient(hidden, {.name = "cut"});
  t.check(loss, t.w, NoneCause::stop_gradient, "tower_0/cut", "tower_0/hidden", "tower_0/add");
}

TEST_CASE(
    "why_none leaves names, collections, seeds and scopes as they are, of a finalized graph too") {
  Towers t;
  const std::string name = t.graph.unique_name("gradients", false);
  {
    const auto scope = name_scope("deep");
    const auto on = device("/cpu:0");
    CHECK(why_none(t.towers[0].hidden, t.w).connected());
    const Tensor next = tf::constant(1.0f, {.name = "c"});
    CHECK(next.name() == "deep/c:0");
    CHECK(next.device() == "/device:CPU:0");
  }
  CHECK(t.graph.unique_name("gradients", false) == name);
  t.graph.finalize();
  CHECK(why_none(t.towers[0].hidden, t.w).connected());
  CHECK(t.graph.finalized());
}

TEST_CASE("why_none: what x leads to is the program's own, not gradients and updates") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Tensor mine = tf::reduce_sum(t.towers[0].hidden, {.name = "mine"});
  const Tensor loss = tf::reduce_sum(t.other, {.name = "loss"});
  train::MomentumOptimizer optimizer(0.1, 0.9);
  const Operation step = optimizer.minimize(mine);
  const WhyNone why = why_none(loss, t.w);
  CAPTURE(why.text);
  CHECK(why.cause == NoneCause::no_path);
  CHECK(why.towards_x.name() == "tower_0/mine");
  CHECK(why.text.find("gradients") == std::string::npos);
  // A gradient that y is computed from counts as any other node.
  const auto dw = gradients(mine, t.w)[0];
  const Tensor penalty = tf::square(tf::stop_gradient(dw->dense()), {.name = "penalty"});
  CHECK(why_none(penalty, t.w).cause == NoneCause::stop_gradient);
  // A node that waits for the step waits for x.
  const auto after = control_dependencies({step});
  const Tensor waits = tf::identity(t.other, {.name = "waits"});
  CHECK(why_none(waits, t.w).cause == NoneCause::control_edge);
}

TEST_CASE("why_none: another loss that trains a variable of y is no path through an assignment") {
  Towers t;
  const auto scope = name_scope("tower_0/");
  const Variable count(Operand(0), {.trainable = false, .name = "count"});
  const Tensor mine =
      tf::reduce_sum(t.towers[0].hidden * tf::reduce_sum(t.other), {.name = "mine"});
  const Tensor loss = tf::reduce_sum(t.other * tf::cast(count, tf::float32), {.name = "loss"});
  train::GradientDescentOptimizer optimizer(0.1);
  const auto pairs = optimizer.compute_gradients(mine);
  SUBCASE("by an optimizer") { optimizer.apply_gradients(pairs, {.global_step = count}); }
  SUBCASE("by hand") {
    for (const GradAndVar& pair : pairs) {
      tf::assign_sub(pair.var, 0.1 * tf::convert_to_tensor(*pair.grad));
    }
  }
  const WhyNone why = why_none(loss, t.w);
  CAPTURE(why.text);
  CHECK(cause_name(why.cause) == std::string("no_path"));
  CHECK(why.towards_x.name() == "tower_0/mine");
}
