// Uses the results of `compute_gradients`, `gradients` and `get_collection` as in Python.
#include <cmath>

#include "tests/porting/gradient_program.h"

using namespace porting;

TEST_CASE("arithmetic on dense gradients") {
  const Program program;
  const tf::OptionalGradient& g = program.dense();  // 2, -4, 6
  CHECK(program.run(-0.1f * *g)[1] == doctest::Approx(0.4));
  CHECK(program.run(g * 0.5) == Numbers{1, -2, 3});
  CHECK(program.run(*g / 2) == Numbers{1, -2, 3});
  CHECK(program.run(g + g) == Numbers{4, -8, 12});
  CHECK(program.run(program.w - 0.5 * g) == Numbers{0, 0, 0});
  CHECK(program.run(g % 3.0) == Numbers{2, 2, 0});
  CHECK(program.run(g > 0) == Numbers{1, 0, 1});
  CHECK(program.run(0 > *g) == Numbers{0, 1, 0});
  const tf::Gradient minus = -g;
  CHECK(minus.name() == "Neg:0");
  CHECK(minus.op().site().line == __LINE__ - 2);
  CHECK(program.run(minus.dense()) == Numbers{-2, 4, -6});
  tf::OptionalGradient scaled = g;
  scaled *= 0.5;
  CHECK(program.run(scaled->dense()) == Numbers{1, -2, 3});
  CHECK(scaled->op().site().line == __LINE__ - 2);
  tf::Tensor sum = tf::zeros({3});
  sum += g;
  sum -= *g / 2;
  CHECK(program.run(sum) == Numbers{1, -2, 3});
}

TEST_CASE("functions of dense gradients") {
  const Program program;
  const tf::OptionalGradient& g = program.dense();
  CHECK(program.run(tf::expand_dims(g, 0)).size() == 3);
  CHECK(program.run(tf::square(*g)) == Numbers{4, 16, 36});
  CHECK(program.run(tf::reduce_sum(g)) == Numbers{4});
  CHECK(program.run(tf::reduce_max(tf::abs(*g), 0)) == Numbers{6});
  CHECK(program.run(tf::reduce_mean({g, g}, 0)) == Numbers{2, -4, 6});
  CHECK(program.run(tf::is_finite(g)) == Numbers{1, 1, 1});
  CHECK(program.run(tf::is_nan(*g)) == Numbers{0, 0, 0});
  CHECK(program.run(tf::where(tf::is_finite(g), g, tf::zeros_like(g))) == Numbers{2, -4, 6});
  CHECK(program.run(tf::clip_by_value(g, -1.0, 1.0).dense()) == Numbers{1, -1, 1});
  CHECK(program.run(tf::clip_by_norm(*g, 0.0).dense()) == Numbers{0, 0, 0});
  CHECK(program.run(tf::scalar_mul(0.5, g).dense()) == Numbers{1, -2, 3});
  CHECK(program.run(tf::add_n({g, *g, program.w})) == Numbers{5, -10, 15});
  CHECK(program.run(tf::concat({g, g}, 0)).size() == 6);
  CHECK(program.run(tf::stack({*g, *g})).size() == 6);
  CHECK(tf::identity(g, {.name = "mine"}).name() == "mine:0");
  CHECK(tf::summary::histogram("w/gradients", g).dtype() == tf::string);
  CHECK(tf::summary::scalar("w/norm", tf::nn::l2_loss(g)).dtype() == tf::string);
  const Gradients list = {g, *g};
  CHECK(program.run(tf::add_n(list)) == Numbers{4, -8, 12});
  CHECK(program.run(tf::stack(std::vector<tf::Gradient>{*g, *g}, 1)).size() == 6);
  CHECK(program.run(tf::reduce_mean(list, 0)) == Numbers{2, -4, 6});
}

TEST_CASE("gradients are assigned and accumulated") {
  const Program program;
  const tf::Variable sum =
      tf::get_variable("sum", {4, 2}, {.initializer = tf::zeros_initializer()});
  const tf::Tensor add = sum.assign_add(program.slices());
  const tf::Tensor set = tf::assign(program.w, program.dense());
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  sess.run(add);
  CHECK(sess.run(sum) == tf::Array::of<float>({4, 2}, {0, 0, 2, 2, 1, 1, 0, 0}));
  CHECK(sess.run(set) == tf::Array::of<float>({3}, {2, -4, 6}));
}

TEST_CASE("a loop over pairs clips what is there") {
  const Program program;
  std::vector<tf::GradAndVar> clipped;
  for (const auto& [grad, var] : program.pairs) {
    if (grad != tf::None) clipped.push_back({tf::clip_by_value(grad, -1.0, 1.0), var});
  }
  REQUIRE(clipped.size() == 2);
  CHECK_FALSE(clipped[1].grad->is_dense());
  tf::train::GradientDescentOptimizer optimizer(1.0);
  const tf::Operation train_op = optimizer.apply_gradients(clipped);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  sess.run(train_op);
  CHECK(sess.run(program.w) == tf::Array::of<float>({3}, {0, -1, 2}));
  CHECK(sess.run(program.table) == tf::Array::of<float>({4, 2}, {1, 1, -1, -1, 0, 0, 1, 1}));
}

TEST_CASE("what gradients return is fetched, grouped and waited for") {
  const Program program;
  const Gradients present = {program.dense(), program.slices()};
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  CHECK(sess.run(program.dense()) == tf::Array::of<float>({3}, {2, -4, 6}));
  CHECK(sess.run(*program.dense()) == tf::Array::of<float>({3}, {2, -4, 6}));
  CHECK(sess.run(Gradients{program.dense(), program.dense()}).size() == 2);
  CHECK(sess.run(tf::gradients(program.loss, {program.w})).size() == 1);
  const auto pairs = sess.run(std::vector<tf::GradAndVar>{program.pairs[0]});
  CHECK(pairs.size() == 1);
  CHECK(pairs[0].first == tf::Array::of<float>({3}, {2, -4, 6}));
  CHECK(pairs[0].second == sess.run(program.w));
  const auto [loss, grad] = sess.run({program.loss, program.dense()});
  CHECK(loss.item<float>() == 20.0f);
  CHECK(grad.elements() == 3);
  const tf::IndexedSlicesValue rows = sess.run(program.slices()->slices());
  CHECK(rows.values == tf::Array::of<float>({3, 2}, {1, 1, 1, 1, 1, 1}));
  CHECK(rows.indices == tf::Array::of<std::int32_t>({3}, {1, 2, 1}));
  CHECK(rows.dense_shape.value() == tf::Array::of<std::int32_t>({2}, {4, 2}));
  sess.run(tf::group(present));
  sess.run(tf::group({program.dense(), *program.slices(), program.loss.op()}));
  {
    const auto after = tf::control_dependencies(present);
    const tf::Operation op = tf::no_op();
    CHECK(op.control_inputs() ==
          std::vector{program.dense()->op(), program.slices()->slices().values.op()});
  }
  {
    const auto after = tf::control_dependencies({program.slices(), *program.dense()});
    CHECK(tf::no_op().control_inputs().size() == 2);
  }
}

TEST_CASE("norms of gradients pass over what is absent") {
  const Program program;
  const Gradients grads = tf::gradients(program.loss, tf::trainable_variables());
  REQUIRE(grads.size() == 3);
  CHECK(program.run(tf::global_norm(grads))[0] == doctest::Approx(std::sqrt(4 + 16 + 36 + 6)));
  CHECK(program.run(tf::global_norm(std::vector<tf::Gradient>{*grads[0]}))[0] ==
        doctest::Approx(std::sqrt(56)));
  CHECK(program.run(tf::global_norm(tf::trainable_variables()))[0] ==
        doctest::Approx(std::sqrt(14 + 8)));
  CHECK(program.run(tf::global_norm({program.pairs[0].grad, program.absent_gradient()}))[0] ==
        doctest::Approx(std::sqrt(56)));
  const auto [clipped, norm] = tf::clip_by_global_norm(grads, 5.0);
  CHECK(norm.shape() == tf::Shape{});
  CHECK_FALSE(clipped[2]);
  CHECK_FALSE(clipped[1]->is_dense());
  const auto gated = tf::tuple(std::vector<tf::Gradient>{*grads[0], *grads[1]});
  CHECK(gated[1]->op().control_inputs().size() == 1);
  tf::add_to_collection("norms", norm);
  CHECK(program.run(tf::global_norm(tf::get_collection("norms"))).size() == 1);
}

TEST_CASE("gradients in collections") {
  const Program program;
  for (const tf::GradAndVar& pair : program.pairs) {
    if (pair.grad) tf::add_to_collection("grads", *pair.grad);
    tf::add_to_collection("optional", pair.grad);
  }
  CHECK(tf::get_collection<tf::Gradient>("grads").size() == 2);
  CHECK(tf::get_collection<tf::OptionalGradient>("optional").size() == 3);
  CHECK_FALSE(tf::get_collection<tf::OptionalGradient>("optional")[2]);
  tf::add_to_collection("dense", *program.dense());
  CHECK(tf::get_collection("dense")[0] == program.dense()->dense());
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  CHECK(sess.run(tf::get_collection<tf::Gradient>("dense")).size() == 1);
  CHECK(sess.run(tf::get_collection("dense")).size() == 1);
  {
    const auto after = tf::control_dependencies(tf::get_collection<tf::Gradient>("grads"));
    CHECK(tf::no_op().control_inputs().size() == 2);
  }
  const auto after = tf::control_dependencies(tf::get_collection<tf::Fetch>("grads"));
  CHECK(tf::no_op().control_inputs().size() == 2);
  CHECK(sess.run(tf::global_norm(tf::get_collection<tf::Gradient>("grads"))).item<float>() ==
        doctest::Approx(std::sqrt(62)));
}

TEST_CASE("what collections hold is fetched, grouped and waited for") {
  const Program program;
  tf::add_to_collection(tf::GraphKeys::UPDATE_OPS, program.w.assign_add({1.0, 1.0, 1.0}));
  tf::add_to_collection(tf::GraphKeys::UPDATE_OPS, program.unused.assign_add({1.0, 1.0, 1.0}).op());
  const auto updates = tf::get_collection<tf::Fetch>(tf::GraphKeys::UPDATE_OPS);
  tf::Session sess;
  sess.run(tf::global_variables_initializer());
  CHECK(sess.run(updates).size() == 2);
  sess.run(tf::group(updates));
  CHECK(sess.run(program.unused) == tf::Array::of<float>({3}, {2, 2, 2}));
  CHECK(sess.run(tf::trainable_variables()).size() == 3);
  sess.run(tf::group(tf::trainable_variables()));
  const auto after = tf::control_dependencies(updates);
  CHECK(tf::no_op().control_inputs().size() == 2);
}
