// Gradients registered under custom names.
#include <doctest/doctest.h>

#include "tests/support/eager.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

namespace {

std::vector<OptionalGradient> times_seven(const Operation& op,
                                          const std::vector<OptionalGradient>& dys) {
  return {convert_to_tensor(*dys[0]) * 7.0f + op.input(0) * 0.0f};
}

const RegisterGradient kSeven("OverrideTestSeven", times_seven);

std::vector<double> slope(const Tensor& y, const Tensor& x) {
  const auto found = gradients({y}, {x});
  return found[0] ? numbers(convert_to_tensor(*found[0])) : std::vector<double>{};
}

}  // namespace

TEST_CASE("gradient_override_map: nested, restored, other ops' gradients, none") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(-2.0f);
  Tensor outer, inner, after, none;
  {
    const auto map = graph.gradient_override_map({{"Relu", "OverrideTestSeven"}});
    {
      const auto nested = graph.gradient_override_map({{"Relu", "Identity"}});
      inner = tf::nn::relu(x);
    }
    outer = tf::nn::relu(x);
  }
  {
    const auto map = graph.gradient_override_map({{"Relu", "Shape"}});
    none = tf::nn::relu(x);
  }
  after = tf::nn::relu(x);
  CHECK(slope(inner, x) == std::vector<double>{1});
  CHECK(slope(outer, x) == std::vector<double>{7});
  CHECK(slope(none, x).empty());
  CHECK(slope(after, x) == std::vector<double>{0});
  CHECK(numbers(outer) == std::vector<double>{0});  // the value is still that of Relu
}

TEST_CASE("gradient_override_map: the name is looked up when a gradient is asked for") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(-2.0f);
  Tensor y;
  {
    const auto map = graph.gradient_override_map({{"Relu", "OverrideTestSevenn"}});
    y = tf::nn::relu(x, {.name = "late"});
  }
  try {
    gradients({y}, {x});
    FAIL("an unknown name");
  } catch (const LookupError& error) {
    CHECK(error.detail().node == "late");
    CHECK(error.detail().hint.find("'OverrideTestSeven'") != std::string::npos);
  }
  RegisterGradient("OverrideTestSevenn", times_seven);
  CHECK(slope(y, x) == std::vector<double>{7});
}

TEST_CASE("RegisterGradient: a name is given once, ops have theirs") {
  CHECK_THROWS_WITH_AS(RegisterGradient("OverrideTestSeven", times_seven),
                       doctest::Contains("override_test.cc"), KeyError);
  CHECK_THROWS_AS(RegisterGradient("Relu", times_seven), KeyError);
  // Shape is declared not differentiable.
  CHECK_THROWS_AS(RegisterGradient("Shape", times_seven), KeyError);
  NotDifferentiable("OverrideTestNone");
  CHECK_THROWS_AS(NotDifferentiable("OverrideTestNone"), KeyError);
}

TEST_CASE("an op that TensorFlow has forgotten is a LookupError, until it is given a gradient") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(-2.0f);
  const Tensor y = tf::is_finite(x);
  CHECK_THROWS_AS(gradients({y}, {x}), LookupError);
  CHECK_FALSE(gradients({tf::greater(x, 0.0f)}, {x})[0]);  // Greater is declared not differentiable
  const tf::Variable v = tf::get_variable("v", {2});
  CHECK_THROWS_AS(gradients({tf::scatter_update(v, {0}, {1.0f})}, {v}), LookupError);
  CHECK_FALSE(gradients({tf::scatter_add(v, {0}, {1.0f})}, {v})[0]);
  NotDifferentiable("IsFinite");
  CHECK_FALSE(gradients({y}, {x})[0]);
}

TEST_CASE("outputs that received nothing come to a registered gradient as zeros") {
  Graph graph;
  const auto guard = graph.as_default();
  RegisterGradient("OverrideTestUnpack", [](const Operation& op, const auto& dys) {
    for (const OptionalGradient& dy : dys) REQUIRE(dy.has_value());
    return std::vector<OptionalGradient>{
        stack(OperandList({dys[0]->dense(), dys[1]->dense() + op.output(1)}))};
  });
  const Tensor x = constant({3.0f, 5.0f});
  const auto map = graph.gradient_override_map({{"Unpack", "OverrideTestUnpack"}});
  CHECK(slope(unstack(x)[0], x) == std::vector<double>{1, 5});
}
