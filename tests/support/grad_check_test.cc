// The gradient checker must find wrong gradients.
#include "tests/support/grad_check.h"

#include <doctest/doctest.h>

#include <limits>

#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "ops/array/view.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/sum_to_shape.h"
#include "ops/math/unary.h"

namespace towerflow {
namespace {

using testing::grad_check;
using testing::random_doubles;
using testing::second_grad_check;

/// Registers a square op whose gradient is 2 x dy times `factor`.
std::string add_wrong_square(const std::string& name, double factor) {
  if (OpRegistry::global().find(name) != nullptr) return name;
  OpRegistry::global().add(
      {.name = name,
       .shape = [](InferenceContext& c) { c.add_output(c.dtype(0), c.shape(0)); },
       .gradient = GradientRule([factor](const Operation& op, const auto& dys) {
         const Tensor slope = multiply(op.input(0), scalar_like(op.input(0), 2 * factor, {}));
         return std::vector<OptionalGradient>{multiply(slope, dys[0]->dense())};
       })});
  cpu_kernels().add(
      {.op = name, .label = "test", .accepts = {}, .prepare = [](const KernelRequest& request) {
         const std::int64_t n = request.inputs[0].shape.elements();
         return function_kernel([n](const LaunchArgs& args) {
           for (std::int64_t i = 0; i < n; ++i) {
             const double x = args.input<double>(0)[i];
             args.output<double>(0)[i] = x * x;
           }
         });
       }});
  return name;
}

std::string check_square(const std::string& op) {
  return grad_check(
      [op](const std::vector<Tensor>& xs) {
        const Operand x(xs[0]);
        return OpBuilder(op.c_str(), "", {}, {&x}).input(x, "x").output();
      },
      {random_doubles({2, 3}, 5)});
}

TEST_CASE("a right gradient passes, also of second order and of unknown shapes") {
  CHECK(check_square(add_wrong_square("RightSquare", 1.0)) == "");
  const auto f = [](const std::vector<Tensor>& xs) { return exp(xs[0]) * xs[1]; };
  const std::vector<Array> xs = {random_doubles({2, 3}, 1), random_doubles({3}, 2)};
  CHECK(grad_check(f, xs) == "");
  CHECK(grad_check(f, xs, {.unknown_shapes = true}) == "");
  CHECK(second_grad_check(f, xs) == "");
}

TEST_CASE("a gradient that is wrong by a factor is found") {
  CHECK(check_square(add_wrong_square("HalfSquare", 0.5)) != "");
  CHECK(check_square(add_wrong_square("MinusSquare", -1.0)) != "");
  CHECK(check_square(add_wrong_square("NearSquare", 1.00001)) != "");
  CHECK(check_square(add_wrong_square("ZeroSquare", 0.0)) != "");
}

TEST_CASE("a gradient that is not a number is found") {
  CHECK(check_square(add_wrong_square("NanSquare", std::numeric_limits<double>::quiet_NaN())) !=
        "");
  CHECK(check_square(add_wrong_square("InfSquare", std::numeric_limits<double>::infinity())) != "");
  const auto root = [](const std::vector<Tensor>& xs) { return sqrt(xs[0]); };
  CHECK(grad_check(root, {Array::zeros(DType::float64, {2})}) != "");
}

TEST_CASE("an absent gradient is found") {
  const auto stopped = [](const std::vector<Tensor>& xs) { return xs[0] + stop_gradient(xs[1]); };
  CHECK(grad_check(stopped, {random_doubles({2}, 1), random_doubles({2}, 2)}) ==
        "x 1: no gradient");
}

TEST_CASE("a gradient of one path only is found") {
  const auto f = [](const std::vector<Tensor>& xs) { return xs[0] * stop_gradient(xs[0]); };
  CHECK(grad_check(f, {random_doubles({2}, 1)}) != "");
}

}  // namespace
}  // namespace towerflow
