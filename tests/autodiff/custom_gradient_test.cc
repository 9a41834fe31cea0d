#include "autodiff/custom_gradient.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/eager.h"
#include "tests/support/error_text.h"
#include "tests/support/grad_check.h"
#include "towerflow/tf.h"

using namespace towerflow;
using testing::numbers;

TEST_CASE("custom_gradient: a gradient that does not overflow, and its own gradient") {
  const auto log1pexp = custom_gradient([](const Tensor& x) {
    const Tensor e = tf::exp(x);
    const auto grad = [e](const Tensor& dy) { return dy * (1.0 - 1.0 / (1.0 + e)); };
    return std::pair(tf::log(1.0 + e), grad);
  });
  {
    Graph graph;
    const auto guard = graph.as_default();
    const Tensor x = constant(100.0f);
    const Tensor y = log1pexp(x);
    CHECK(y.name() == "IdentityN:0");
    CHECK(numbers(convert_to_tensor(*gradients({y}, {x})[0])) == std::vector<double>{1});
  }
  const auto f = [&](const std::vector<Tensor>& xs) { return log1pexp(xs[0]); };
  const std::vector<Array> at{testing::random_doubles(Shape{3}, 5)};
  CHECK(testing::grad_check(f, at) == "");
  CHECK(testing::second_grad_check(f, at) == "");
}

TEST_CASE("custom_gradient: several inputs and results, absent gradients, values as inputs") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto f = custom_gradient([](const Tensor& a, const Tensor& b) {
    const auto grad = [](const std::vector<Tensor>& dys) {
      return std::vector<OptionalGradient>{Gradient(dys[0] * 2.0f + dys[1]), std::nullopt};
    };
    return std::pair(std::vector<Tensor>{a * b, a + b}, grad);
  });
  const Tensor x = constant(3.0f), z = constant(4.0f);
  const std::vector<Tensor> ys = f(x, z);
  REQUIRE(ys.size() == 2);
  CHECK(numbers(ys[0]) == std::vector<double>{12});
  CHECK(numbers(ys[1]) == std::vector<double>{7});
  const auto first = gradients({ys[0]}, {x, z});
  CHECK(numbers(first[0]->dense()) == std::vector<double>{2});
  CHECK_FALSE(first[1]);
  CHECK(numbers(gradients({ys[0], ys[1]}, {x})[0]->dense()) == std::vector<double>{3});
  CHECK(numbers(f(x, 2.0f)[0]) == std::vector<double>{6});
}

TEST_CASE("custom_gradient: variables used inside get gradients of their own") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(2.0f, {.name = "w"}), b(1.0f, {.name = "b"});
  const Variable fixed(5.0f, {.trainable = false, .name = "fixed"});
  const auto f = custom_gradient([&](const Tensor& x) {
    const auto grad = [](const Tensor& dy, const std::vector<Variable>& variables) {
      REQUIRE(variables.size() == 2);
      CHECK(variables[0].name() == "b:0");  // sorted by name, only trainable ones
      return std::pair(dy * 3.0f, std::vector<Tensor>{dy * 10.0f, dy * 20.0f});
    };
    return std::pair(x * w + b + fixed, grad);
  });
  const Tensor x = constant(1.0f);
  const Tensor y = f(x);
  const auto found = gradients({y}, {x, w, b, fixed});
  Session session;
  session.run(global_variables_initializer());
  CHECK(numbers(session.run(y)) == std::vector<double>{8});
  CHECK(numbers(session.run(found[0]->dense())) == std::vector<double>{3});
  CHECK(numbers(session.run(found[1]->dense())) == std::vector<double>{20});
  CHECK(numbers(session.run(found[2]->dense())) == std::vector<double>{10});
  CHECK_FALSE(found[3]);
}

TEST_CASE("custom_gradient: variables that its callable cannot take, or made inside") {
  Graph graph;
  const auto guard = graph.as_default();
  const Variable w(2.0f, {.name = "w"});
  const auto silent = [](const Tensor& dy) { return dy; };
  const auto uses = custom_gradient([&](const Tensor& x) { return std::pair(x * w, silent); });
  CHECK_THROWS_WITH_AS(uses(constant(1.0f)), doctest::Contains("w:0"), TypeError);
  CHECK_NOTHROW(custom_gradient([&](const Tensor& x) { return std::pair(x * 2.0f, silent); })(w));
  const auto makes =
      custom_gradient([&](const Tensor& x) { return std::pair(x * Variable(1.0f), silent); });
  CHECK_THROWS_AS(makes(constant(1.0f)), TypeError);
}

TEST_CASE("custom_gradient: a wrong number of gradients is found when they are asked for") {
  Graph graph;
  const auto guard = graph.as_default();
  const auto f = custom_gradient([](const Tensor& x) {
    return std::pair(x * x, [](const Tensor& dy) { return std::vector<Tensor>{dy, dy}; });
  });
  const Tensor x = constant(1.0f);
  const Tensor y = f(x);
  CHECK_THROWS_WITH_AS(gradients({y}, {x}), doctest::Contains("do not match num inputs"),
                       ValueError);
}

TEST_CASE("identity_n: values of several dtypes, zeros for outputs without a gradient") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor a = constant({1.0f, 2.0f}), b = constant(3), c = constant(4.0f);
  const std::vector<Tensor> same = identity_n({a, b, c});
  REQUIRE(same.size() == 3);
  CHECK(numbers(same[0]) == std::vector<double>{1, 2});
  CHECK(same[1].dtype() == DType::int32);
  CHECK(numbers(same[1]) == std::vector<double>{3});
  const auto found = gradients({same[0]}, {a, c});
  CHECK(numbers(found[0]->dense()) == std::vector<double>{1, 1});
  CHECK(numbers(found[1]->dense()) == std::vector<double>{0});
  CHECK_THROWS_AS(identity_n({}), ValueError);
}

TEST_CASE("custom_gradient: an exception of the gradient names node and lines") {
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(1.0f, {.name = "x"});
  const std::string file = "custom_gradient_test.cc:";
  const auto made = [](auto error) {
    return [=](const Tensor& in) {
      return std::pair(in * 2.0f, [=](const Tensor& dy) {
        if (dy.valid()) throw error;
        return dy;
      });
    };
  };
  const unsigned line = __LINE__ + 1;
  const auto foreign = custom_gradient(made(std::runtime_error("boom")));
  const Tensor y = foreign(x);
  const unsigned asked = __LINE__ + 1;
  const std::string said = testing::error_text([&] { gradients(y, x); });
  CHECK_SAYS(said, "InternalError: boom", "node: IdentityN (IdentityN)",
             file + std::to_string(line), "called at", file + std::to_string(asked));
  // An error of the library keeps its class and its own location.
  const auto own = custom_gradient(made(ValueError("bad", {.site = {"mine.cc", "f", 7}})));
  const Tensor z = own(x);
  CHECK_SAYS(testing::error_text([&] { gradients(z, x); }), "ValueError: bad",
             "node: IdentityN_1 (IdentityN)", "at: mine.cc:7");
}

TEST_CASE("RegisterGradient: an exception of the gradient names node and lines") {
  const RegisterGradient registered("ThrowsForTest",
                                    [](const Operation&, const std::vector<OptionalGradient>& dys) {
                                      if (!dys.empty()) throw std::logic_error("no such thing");
                                      return dys;
                                    });
  Graph graph;
  const auto guard = graph.as_default();
  const Tensor x = constant(1.0f, {.name = "x"});
  const auto map = graph.gradient_override_map({{"Relu", "ThrowsForTest"}});
  const unsigned line = __LINE__ + 1;
  const Tensor y = nn::relu(x);
  CHECK_SAYS(testing::error_text([&] { gradients(y, x); }), "InternalError: no such thing",
             "node: Relu (Relu)", "custom_gradient_test.cc:" + std::to_string(line));
}
