// Every fusing rule on and off: values, number of instructions, and near misses.
#include <functional>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/concat.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/nn/bias_add.h"
#include "ops/nn/bias_add_attrs.h"
#include "ops/nn/conv2d.h"
#include "ops/nn/pool_attrs.h"
#include "ops/nn/relu.h"
#include "ops/variables/apply.h"
#include "ops/variables/assign.h"
#include "ops/variables/initialization.h"
#include "ops/variables/variable.h"
#include "tests/ops/nn/support.h"
#include "tests/ops/ran.h"

namespace towerflow {
namespace {

using namespace testing;  // NOLINT

/// A pattern: `inner` reads a variable, and `outer` is the op into which it is fused.
struct Pattern {
  const char* rule;
  const char* on;
  Shape shape;      ///< of the variable
  const char* op;   ///< of the node that `outer` creates
  int on_launches;  ///< of the pattern itself
  int off_launches;
  std::function<Tensor(const Operand& w)> inner;
  std::function<Tensor(const Tensor& inner)> outer;
  double tolerance = 0;  ///< relative; 0 requires the same bits
};

Tensor numbers(const Shape& shape, unsigned seed) {
  return tensor_of(random_array<float>(shape, seed));
}

Tensor biased_product(const Operand& w) { return matmul(w, numbers({6, 4}, 1)) + numbers({4}, 2); }

Tensor stacked(const Operand& w) {
  return concat(std::vector<Tensor>{expand_dims(w, 0), expand_dims(numbers({5}, 3), 0)}, 0);
}

Tensor max_pool_grad(const Operand& dy) {
  const Tensor y = nn::relu(numbers({2, 6, 6, 3}, 1));
  const Tensor pooled = numbers({2, 3, 3, 3}, 2);  // its values do not matter
  const nn::PoolAttrs attrs{.ksize = {1, 2, 2, 1}, .strides = {1, 2, 2, 1}};
  return OpBuilder("MaxPoolGrad", "", Site::current(), {&dy})
      .input(y, "orig_input")
      .input(pooled, "orig_output")
      .input(dy, "grad")
      .attrs(nn::MaxPoolAttrs{attrs})
      .output();
}

Tensor relu_grad_of(const Tensor& dy) {
  const Tensor y = dy.op().input(0);
  const Operand first(dy, Site::current());
  return OpBuilder("ReluGrad", "", Site::current(), {&first})
      .input(first, "gradients")
      .input(y, "features")
      .output();
}

const std::vector<Pattern>& patterns() {
  static const auto on_nn = "layers";
  static const auto on_update = "updates";
  static const Site site = Site::current();
  static const auto conv = [](const Operand& w) {
    return nn::conv2d(w, numbers({3, 3, 3, 8}, 1), 1, "SAME");
  };
  static const auto relu = [](const Tensor& x) { return nn::relu(x); };
  static const auto mean = [](const Operand& w) { return reduce_mean(stacked(w), 0); };
  static const std::vector<Pattern> all = {
      {"convolution and bias",
       on_nn,
       {2, 5, 5, 3},
       "BiasAdd",
       1,
       2,
       conv,
       [](const Tensor& x) { return nn::bias_add(x, numbers({8}, 2)); },
       1e-5},
      {"convolution and relu",
       on_nn,
       {2, 5, 5, 3},
       "Relu",
       1,
       3,
       [](const Operand& w) { return nn::bias_add(conv(w), numbers({8}, 2)); },
       relu,
       1e-5},
      {"product and bias",
       on_nn,
       {7, 6},
       "AddV2",
       1,
       2,
       [](const Operand& w) {
         return matmul(w, numbers({6, 4}, 1));
       },
       [](const Tensor& x) { return x + numbers({4}, 2); }},
      {"product and bias",
       on_nn,
       {7, 6},
       "BiasAdd",
       1,
       2,
       [](const Operand& w) {
         return matmul(w, numbers({6, 4}, 1));
       },
       [](const Tensor& x) { return nn::bias_add(x, numbers({4}, 2)); }},
      {"product and relu", on_nn, {7, 6}, "Relu", 1, 3, biased_product, relu},
      {"gradients of pooling and relu",
       on_nn,
       {2, 3, 3, 3},
       "ReluGrad",
       2,
       3,
       max_pool_grad,
       relu_grad_of},
      {"mean of towers",
       on_update,
       {5},
       "Mean",
       1,
       2,
       stacked,
       [](const Tensor& x) { return reduce_mean(x, 0); }},
      {"average and update",
       on_update,
       {5},
       "ApplyGradientDescent",
       2,
       4,
       mean,
       [](const Tensor& x) {
         const Variable v(random_array<float>({5}, 9), {.name = "moved"});
         return apply_gradient_descent(v, 0.1f, x, "apply", {}, site).output(0);
       }},
      {"average and update",
       on_update,
       {5},
       "ApplyMomentum",
       2,
       4,
       mean,
       [](const Tensor& x) {
         const Variable v(random_array<float>({5}, 9), {.name = "moved"});
         const Variable slot(random_array<float>({5}, 8), {.name = "slot"});
         return apply_momentum(v, slot, 0.1f, x, 0.9f, "apply", {}, site).output(0);
       }},
  };
  return all;
}

/// The surroundings of a pattern: what else reads, fetches, places, orders or writes its parts.
enum class Surroundings { nothing, reader, fetched, device, control, written };

struct Outcome {
  RunResult on, off;
};

Outcome outcome(const Pattern& pattern, Surroundings around) {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(random_array<float>(pattern.shape, 11), {.name = "w"});
  const Variable other(random_array<float>({}, 12), {.name = "other"});
  std::vector<Fetch> more;
  Tensor inner = pattern.inner(w), result;
  if (around == Surroundings::control) {
    const Node& node = inner.node();
    inner = graph
                .add({.op = node.op->name,
                      .name = "again",
                      .inputs = node.inputs,
                      .control_inputs = {&assign(other, 1.0f).node()},
                      .attrs = node.attrs,
                      .site = Site::current()})
                .output(0);
  }
  if (around == Surroundings::reader) more.push_back(reduce_sum(inner));
  if (around == Surroundings::fetched) more.push_back(inner);
  if (around == Surroundings::written) {
    more.push_back(assign(w, Array::zeros(DType::float32, pattern.shape)));
  }
  if (around == Surroundings::device) {
    const auto elsewhere = device("/cpu:1");
    result = pattern.outer(inner);
  } else {
    result = pattern.outer(inner);
  }
  std::vector<Fetch> fetches{result};
  fetches.insert(fetches.end(), more.begin(), more.end());
  const Operation init = global_variables_initializer();
  return {run_with(graph, fetches, only_rewrites(pattern.on), &init, {}, 2),
          run_with(graph, fetches, only_rewrites(), &init, {}, 2)};
}

void check_values(const Pattern& pattern, const Outcome& ran) {
  REQUIRE(ran.on.values.size() == ran.off.values.size());
  for (std::size_t i = 0; i < ran.on.values.size(); ++i) {
    const Array &on = ran.on.values[i], &off = ran.off.values[i];
    if (pattern.tolerance == 0) CHECK(on == off);
    if (pattern.tolerance > 0) CHECK(relative_error<float, float>(on, off) <= pattern.tolerance);
  }
}

TEST_CASE("rewrites: each rule saves instructions and keeps values") {
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.rule);
    const Outcome ran = outcome(pattern, Surroundings::nothing);
    CHECK(ran.on.has(std::string("rewrite: ") + pattern.rule + " applied"));
    CHECK(ran.on.launches == pattern.on_launches);
    CHECK(ran.off.launches == pattern.off_launches);
    CHECK(ran.on.count(pattern.op) == 0);
    CHECK(ran.off.count(pattern.op) == 1);
    check_values(pattern, ran);
  }
}

TEST_CASE("rewrites: near misses of each rule are left alone") {
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.rule);
    for (const Surroundings around : {Surroundings::reader, Surroundings::fetched,
                                      Surroundings::device, Surroundings::control}) {
      CAPTURE(static_cast<int>(around));
      const Outcome ran = outcome(pattern, around);
      CHECK(ran.on.count(pattern.op) == 1);
      check_values(pattern, ran);
    }
  }
}

TEST_CASE("rewrites: a variable written in between is read before") {
  for (const Pattern& pattern : patterns()) {
    CAPTURE(pattern.rule);
    const Outcome ran = outcome(pattern, Surroundings::written);
    CHECK(ran.on.count(pattern.op) == 1);
    check_values(pattern, ran);
  }
}

Tensor channel_sums_of(const Tensor& dx, nn::DataFormat format = nn::DataFormat::nhwc) {
  const Operand first(dx, Site::current());
  return OpBuilder("BiasAddGrad", "", Site::current(), {&first})
      .input(first, "out_backprop")
      .attrs(nn::BiasAddAttrs{format})
      .output();
}

TEST_CASE("rewrites: gradients of pooling, relu and bias") {
  const auto on = "layers";
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor dx = relu_grad_of(max_pool_grad(numbers({2, 3, 3, 3}, 4)));
  const Tensor sums = channel_sums_of(dx), again = channel_sums_of(dx);
  const Tensor other_channels = channel_sums_of(dx, nn::DataFormat::nchw);
  Tensor elsewhere;
  {
    const auto other = device("/cpu:1");
    elsewhere = channel_sums_of(dx);
  }
  const auto check = [&](const std::vector<Fetch>& fetches, int launches, int sums_left) {
    const RunResult fused = run_with(graph, fetches, only_rewrites(on), nullptr, {}, 2);
    const RunResult plain = run_with(graph, fetches, only_rewrites(), nullptr, {}, 2);
    CHECK(fused.launches == launches);
    CHECK(fused.count("BiasAddGrad") == sums_left);
    CHECK(fused.values == plain.values);
    CHECK(plain.count("MaxPoolGrad") == 1);
  };
  check({sums}, 2, 0);      // the relu, and one pass for the rest
  check({dx, sums}, 2, 0);  // dx is computed anyway
  check({dx, sums, again}, 3, 1);
  check({dx, elsewhere}, 3, 1);
  check({dx, other_channels}, 3, 1);
}

TEST_CASE("rewrites: a relu of other features than the pooled ones stays") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor dy = max_pool_grad(numbers({2, 3, 3, 3}, 4));
  const Operand first(dy, Site::current());
  const Tensor dx = OpBuilder("ReluGrad", "", Site::current(), {&first})
                        .input(first, "gradients")
                        .input(numbers({2, 6, 6, 3}, 5), "features")
                        .output();
  const RunResult fused = run_with(graph, {dx}, only_rewrites("layers"), nullptr, {}, 2);
  CHECK(fused.count("_MaxPoolReluGrad") == 0);
  CHECK(fused.values == run_with(graph, {dx}, only_rewrites(), nullptr, {}, 2).values);
}

TEST_CASE("gradients of relu and pooling have the shape of what they are gradients of") {
  Graph graph;
  const auto guard = graph.as_default();
  CHECK_THROWS_AS(max_pool_grad(numbers({2, 2, 3, 3}, 4)), ValueError);
  const Operand first(numbers({2, 3}, 1), Site::current());
  const auto relu_grad = [&](const Tensor& features) {
    return OpBuilder("ReluGrad", "", Site::current(), {&first})
        .input(first, "gradients")
        .input(features, "features")
        .output();
  };
  CHECK_THROWS_AS(relu_grad(numbers({2, 4}, 2)), ValueError);
  CHECK(relu_grad(numbers({2, 3}, 2)).shape() == Shape{2, 3});
}

}  // namespace
}  // namespace towerflow
