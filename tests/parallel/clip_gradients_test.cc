// Clipping the gradients of towers, each tower's or their average: the numbers of arithmetic
// written out, and the nodes of the functions that clip.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;
using tf::parallel::ClipStage;
using tf::parallel::ClipWay;
using tf::parallel::GradientClip;
using Numbers = std::vector<double>;

namespace {

Variable zeros(const char* name, const Shape& shape) {
  return tf::get_variable(name, shape, {.initializer = tf::zeros_initializer()});
}

/// Tower 0 has the gradients (3, 4) of a and 12 of b, tower 1 has (0, 1) of a and none of b.
Tensor dense_loss(int tower, const std::string&) {
  const Variable a = zeros("a", {2}), b = zeros("b", Shape{});
  zeros("c", {2});
  if (tower == 0) return tf::reduce_sum(a * tf::constant({3.0F, 4.0F})) + 12.0F * b;
  return tf::reduce_sum(a * tf::constant({0.0F, 1.0F}));
}

/// The gradients of row 1 are 3 and 4 in tower 0, and 12 in tower 1.
Tensor rows_loss(int tower, const std::string&) {
  const Variable table = zeros("table", {3, 1});
  if (tower == 0) {
    const Tensor factors = tf::constant(testing::array_of(DType::float32, {2, 1}, {3, 4}));
    return tf::reduce_sum(tf::gather(table, {1, 1}) * factors);
  }
  return 12.0F * tf::reduce_sum(tf::gather(table, {1}));
}

struct Clipped {
  std::vector<Numbers> moved;  ///< how far each variable went against its gradient
  Numbers norms;
};

/// Makes a step of gradient descent with a rate of 1.
Clipped clipped(const tf::parallel::types::TowerLoss& loss, std::optional<GradientClip> clip) {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(1.0);
  const tf::parallel::Towers towers(opt, loss, {.num_towers = 2, .clip = clip});
  Session session(graph, {.allow_soft_placement = true});
  session.run(tf::global_variables_initializer());
  Clipped result;
  for (const Tensor& norm : towers.global_norms) {
    result.norms.push_back(session.run(norm).item<float>());
  }
  session.run(towers.train_op);
  for (const GradAndVar& pair : towers.grads) {
    Numbers moved = numbers(session.run(pair.var));
    for (double& x : moved) x = -x;
    result.moved.push_back(moved);
  }
  return result;
}

void check_near(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("each way of clipping, per tower and after the mean") {
  const double mean_norm = std::sqrt(1.5 * 1.5 + 2.5 * 2.5), all = std::sqrt(8.5 + 144);
  struct Case {
    GradientClip clip;
    Numbers a, b;
  };
  const Case cases[] = {
      {{ClipWay::by_value, 2, ClipStage::per_tower}, {(2 + 0) / 2.0, (2 + 1) / 2.0}, {2}},
      {{ClipWay::by_value, 2, ClipStage::after_mean}, {1.5, 2}, {2}},
      {{ClipWay::by_norm, 2.5, ClipStage::per_tower}, {(1.5 + 0) / 2, (2 + 1) / 2.0}, {2.5}},
      {{ClipWay::by_norm, 2.5, ClipStage::after_mean},
       {1.5 * 2.5 / mean_norm, 2.5 * 2.5 / mean_norm},
       {2.5}},
      {{ClipWay::by_global_norm, 6.5, ClipStage::per_tower}, {(1.5 + 0) / 2, (2 + 1) / 2.0}, {6}},
      {{ClipWay::by_global_norm, 6.5, ClipStage::after_mean},
       {1.5 * 6.5 / all, 2.5 * 6.5 / all},
       {12 * 6.5 / all}},
      {{ClipWay::by_global_norm, 100, ClipStage::after_mean}, {1.5, 2.5}, {12}},
  };
  for (const Case& one : cases) {
    CAPTURE(static_cast<int>(one.clip.way));
    CAPTURE(static_cast<int>(one.clip.stage));
    const Clipped found = clipped(dense_loss, one.clip);
    check_near(found.moved[0], one.a);
    check_near(found.moved[1], one.b);
    CHECK(found.moved[2] == Numbers{0, 0});
    const bool per_tower = one.clip.stage == ClipStage::per_tower;
    check_near(found.norms, per_tower ? Numbers{13, 1} : Numbers{all});
  }
  CHECK(clipped(dense_loss, std::nullopt).norms.empty());
}

TEST_CASE("slices are clipped as they are, before the values of a row are added") {
  const GradientClip per_tower{ClipWay::by_global_norm, 2.5, ClipStage::per_tower};
  Clipped found = clipped(rows_loss, per_tower);
  check_near(found.norms, {5, 12});
  check_near(found.moved[0], {0, (1.5 + 2 + 2.5) / 2, 0});
  // Halves of 3, 4 and 12 have the norm 6.5; the row's gradient is 9.5.
  const GradientClip after{ClipWay::by_global_norm, 3.25, ClipStage::after_mean};
  found = clipped(rows_loss, after);
  check_near(found.norms, {6.5});
  check_near(found.moved[0], {0, 9.5 / 2, 0});
  found = clipped(rows_loss, GradientClip{ClipWay::by_value, 2, ClipStage::after_mean});
  check_near(found.moved[0], {0, 1.5 + 2 + 2, 0});
  found = clipped(rows_loss, GradientClip{ClipWay::by_norm, 3.25, ClipStage::after_mean});
  check_near(found.moved[0], {0, 9.5 / 2, 0});
}

TEST_CASE("the global norm of towers is clipped by the nodes of clip_by_global_norm") {
  const auto nodes = [](bool in_one_call) {
    Graph graph;
    const auto guard = graph.as_default();
    train::GradientDescentOptimizer opt(1.0);
    if (in_one_call) {
      const GradientClip clip{ClipWay::by_global_norm, 5};
      const tf::parallel::Towers towers(opt, dense_loss, {.num_towers = 1, .clip = clip});
    } else {
      std::vector<GradAndVar> pairs;
      {
        const auto vars = tf::variable_scope(tf::get_variable_scope());
        const auto device = tf::device("/gpu:0");
        const auto scope = tf::name_scope("tower_0");
        pairs = opt.compute_gradients(dense_loss(0, ""));
      }
      std::vector<OptionalGradient> grads;
      std::vector<Variable> vars;
      for (const GradAndVar& pair : tf::average_gradients({pairs})) {
        grads.push_back(pair.grad);
        vars.push_back(pair.var);
      }
      opt.apply_gradients(tf::zip(tf::clip_by_global_norm(grads, 5.0).list_clipped, vars));
    }
    std::vector<std::string> names;
    for (const Operation& op : graph.get_operations()) names.push_back(op.type() + " " + op.name());
    return names;
  };
  CHECK(nodes(true) == nodes(false));
}

TEST_CASE("a limit that clips to nothing") {
  Graph graph;
  const auto guard = graph.as_default();
  train::GradientDescentOptimizer opt(1.0);
  for (const double limit : {0.0, -1.0, std::nan("")}) {
    const GradientClip clip{ClipWay::by_norm, limit};
    CHECK_THROWS_AS(tf::parallel::clip_gradients({}, clip), ValueError);
    CHECK_THROWS_AS(tf::parallel::Towers(opt, dense_loss, {.num_towers = 2, .clip = clip}),
                    ValueError);
  }
  CHECK(graph.size() == 0);
}
