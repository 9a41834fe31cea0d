// Elementwise ops.
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

const std::vector<DType> kSigned{DType::float32, DType::float64, DType::int32, DType::int64};

/// Operands worth timing: too large for caches.
const std::vector<CaseInput> kOneLarge{random_input({1000, 1000}, 0.5, 2)};
const std::vector<CaseInput> kTwoLarge{random_input({1000, 1000}, 0.5, 2),
                                       random_input({1000, 1000}, 0.5, 2)};

/// Adds cases of one operand in `low` .. `high`, which includes both sides of any kink of the op.
void add_unary_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* op, auto call, const char* python, double low, double high,
                       std::vector<DType> dtypes = kFloats) {
    cases.push_back({.name = op,
                     .inputs = {random_input({2, 3, 5}, low, high)},
                     .call = [call](In t) { return CaseResults(call(t.x)); },
                     .python = python,
                     .dtypes = std::move(dtypes),
                     .large = kOneLarge});
  };
  using T = const Tensor&;
  add(
      "Abs", [](T x) { return tf::abs(x); }, "tf.abs(x)", -2, 2, kSigned);
  add(
      "Cos", [](T x) { return tf::cos(x); }, "tf.cos(x)", -4, 4);
  add(
      "Exp", [](T x) { return tf::exp(x); }, "tf.exp(x)", -3, 3);
  add(
      "Expm1", [](T x) { return tf::expm1(x); }, "tf.expm1(x)", -1, 1);
  add(
      "Identity", [](T x) { return tf::identity(x); }, "tf.identity(x)", -2, 2, any_dtype());
  add(
      "Log", [](T x) { return tf::log(x); }, "tf.log(x)", 0.1, 3);
  add(
      "Log1p", [](T x) { return tf::log1p(x); }, "tf.log1p(x)", -0.5, 3);
  add(
      "Neg", [](T x) { return tf::negative(x); }, "tf.negative(x)", -2, 2, kSigned);
  add(
      "Reciprocal", [](T x) { return tf::reciprocal(x); }, "tf.reciprocal(x)", 0.3, 2);
  add(
      "Rsqrt", [](T x) { return tf::rsqrt(x); }, "tf.rsqrt(x)", 0.3, 2);
  add(
      "Sigmoid", [](T x) { return tf::sigmoid(x); }, "tf.sigmoid(x)", -4, 4);
  add(
      "Sin", [](T x) { return tf::sin(x); }, "tf.sin(x)", -4, 4);
  add(
      "Sqrt", [](T x) { return tf::sqrt(x); }, "tf.sqrt(x)", 0.3, 2);
  add(
      "Square", [](T x) { return tf::square(x); }, "tf.square(x)", -2, 2, kSigned);
  add(
      "Tanh", [](T x) { return tf::tanh(x); }, "tf.tanh(x)", -2, 2);
  add(
      "Relu", [](T x) { return nn::relu(x); }, "tf.nn.relu(x)", -1, 1, kSigned);
  add(
      "Relu6", [](T x) { return nn::relu6(x); }, "tf.nn.relu6(x)", -4, 10);
  add(
      "LeakyRelu", [](T x) { return nn::leaky_relu(x, 0.3); }, "tf.nn.leaky_relu(x, 0.3)", -1, 1);
  add(
      "Elu", [](T x) { return nn::elu(x); }, "tf.nn.elu(x)", -2, 2);
  add(
      "Selu", [](T x) { return nn::selu(x); }, "tf.nn.selu(x)", -2, 2);
  add(
      "Softplus", [](T x) { return nn::softplus(x); }, "tf.nn.softplus(x)", -4, 4);
  add(
      "Softsign", [](T x) { return nn::softsign(x); }, "tf.nn.softsign(x)", -2, 2);
}

/// Adds cases of one operand without gradient.
void add_flat_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const char* op, auto call, const char* python,
                       std::vector<DType> dtypes = kFloats) {
    cases.push_back({.name = op,
                     .inputs = {input_of({2, 4}, {-1.5, -0.5, -0.0, 0.4, 0.5, 1.5, 2.5, 7})},
                     .call = [call](In t) { return CaseResults(call(t.x)); },
                     .python = python,
                     .dtypes = std::move(dtypes),
                     .gradients = CaseGradients::none,
                     .large = kOneLarge});
  };
  using T = const Tensor&;
  add(
      "Ceil", [](T x) { return tf::ceil(x); }, "tf.ceil(x)");
  add(
      "Floor", [](T x) { return tf::floor(x); }, "tf.floor(x)");
  add(
      "Round", [](T x) { return tf::round(x); }, "tf.round(x)");
  add(
      "ZerosLike", [](T x) { return tf::zeros_like(x); }, "tf.zeros_like(x)");
  add(
      "IsNan", [](T x) { return tf::is_nan(x); }, "tf.is_nan(x)");
  add(
      "IsInf", [](T x) { return tf::is_inf(x / 0.0); }, "tf.is_inf(x / 0.0)");
  add(
      "IsFinite", [](T x) { return tf::is_finite(x / x); }, "tf.is_finite(x / x)");
  for (const bool zero : {false, true}) {  // without and with 0, where sign has no derivative
    cases.push_back({.name = zero ? "Sign of zero" : "Sign",
                     .inputs = {input_of({2, 2}, {-1.5, zero ? 0.0 : -0.5, 2.5, 7})},
                     .call = [](In t) { return tf::sign(t.x); },
                     .python = "tf.sign(x)",
                     .dtypes = kSigned,
                     .gradients = zero ? CaseGradients::elsewhere : CaseGradients::first});
  }
  cases.push_back({.name = "StopGradient",
                   .inputs = {random_input({2, 3})},
                   .call = [](In t) { return tf::stop_gradient(t.x); },
                   .python = "tf.stop_gradient(x)",
                   .dtypes = any_dtype(),
                   .gradients = CaseGradients::none});
}

/// Adds cases of two operands of one shape and of two shapes that broadcast.
void add_binary_cases(std::vector<OpCase>& cases) {
  const auto add = [&](const std::string& op, auto call, const char* python, CaseInput x,
                       CaseInput y, std::vector<DType> dtypes = kSigned,
                       CaseGradients gradients = CaseGradients::both) {
    const auto made = [call](In t) { return CaseResults(call(t.x, t.y)); };
    const auto one = [&](const char* suffix, CaseInput left, CaseInput right, bool timed) {
      cases.push_back({.name = op + suffix,
                       .inputs = {std::move(left), std::move(right)},
                       .call = made,
                       .python = python,
                       .dtypes = dtypes,
                       .gradients = gradients,
                       .large = timed ? kTwoLarge : std::vector<CaseInput>{}});
    };
    const auto shaped = [](CaseInput input, Shape shape) {
      input.shape = std::move(shape);
      return input;
    };
    one("", shaped(x, {2, 3}), shaped(y, {2, 3}), true);
    one(" along rows", shaped(x, {4, 1, 3}), shaped(y, {2, 3}), false);
    one(" with a scalar", shaped(x, {2, 3}), shaped(y, {}), false);
    one(" of nothing", shaped(x, {2, 0}), shaped(y, {1, 0}), false);
  };
  using T = const Tensor&;
  const CaseInput any = random_input({}, -3, 3), above = random_input({}, 1, 4);
  add(
      "AddV2", [](T x, T y) { return x + y; }, "x + y", any, any);
  add(
      "Sub", [](T x, T y) { return x - y; }, "x - y", any, any);
  add(
      "Mul", [](T x, T y) { return x * y; }, "x * y", any, any);
  add(
      "RealDiv", [](T x, T y) { return tf::divide(x, y); }, "tf.divide(x, y)", any, above, kFloats);
  add(
      "DivNoNan", [](T x, T y) { return tf::div_no_nan(x, y); }, "tf.div_no_nan(x, y)", any, above,
      kFloats);
  add(
      "FloorMod", [](T x, T y) { return tf::floormod(x, y); }, "tf.floormod(x, y)", any, above);
  add(
      "Maximum", [](T x, T y) { return tf::maximum(x, y); }, "tf.maximum(x, y)", any, any);
  add(
      "Minimum", [](T x, T y) { return tf::minimum(x, y); }, "tf.minimum(x, y)", any, any);
  add(
      "Pow", [](T x, T y) { return tf::pow(x, y); }, "tf.pow(x, y)", above, above);
  add(
      "SquaredDifference", [](T x, T y) { return tf::squared_difference(x, y); },
      "tf.squared_difference(x, y)", any, any);
  const auto none = CaseGradients::none;
  add(
      "FloorDiv", [](T x, T y) { return tf::floordiv(x, y); }, "tf.floordiv(x, y)", any, above,
      kSigned, none);
  add(
      "Equal", [](T x, T y) { return tf::equal(x, y); }, "tf.equal(x, y)", any, any, kSigned, none);
  add(
      "NotEqual", [](T x, T y) { return tf::not_equal(x, y); }, "tf.not_equal(x, y)", any, any,
      kSigned, none);
  add(
      "Greater", [](T x, T y) { return x > y; }, "x > y", any, any, kSigned, none);
  add(
      "GreaterEqual", [](T x, T y) { return x >= y; }, "x >= y", any, any, kSigned, none);
  add(
      "Less", [](T x, T y) { return x < y; }, "x < y", any, any, kSigned, none);
  add(
      "LessEqual", [](T x, T y) { return x <= y; }, "x <= y", any, any, kSigned, none);
  const CaseInput truth = input_of({2, 2}, {0, 0, 1, 1}, DType::bool_);
  const CaseInput other = input_of({2, 2}, {0, 1, 0, 1}, DType::bool_);
  const auto logical = [&](const char* op, std::function<CaseResults(In)> call,
                           const char* python) {
    cases.push_back({.name = op,
                     .inputs = {truth, other},
                     .call = std::move(call),
                     .python = python,
                     .dtypes = {DType::bool_},
                     .gradients = none});
  };
  logical(
      "LogicalAnd", [](In t) { return tf::logical_and(t.x, t.y); }, "tf.logical_and(x, y)");
  logical(
      "LogicalOr", [](In t) { return tf::logical_or(t.x, t.y); }, "tf.logical_or(x, y)");
  logical(
      "LogicalNot", [](In t) { return tf::logical_not(t.x); }, "tf.logical_not(x)");
}

void add_chosen_cases(std::vector<OpCase>& cases) {
  const CaseInput truth = input_of({2, 3}, {0, 1, 1, 0, 1, 0}, DType::bool_);
  cases.push_back({.name = "Select",
                   .inputs = {truth, random_input({2, 3}), random_input({2, 3})},
                   .call = [](In t) { return tf::where(t.x, t.y, t.z); },
                   .python = "tf.where(x, y, z)",
                   .dtypes = any_dtype()});
  cases.push_back({.name = "SelectV2 along rows",
                   .inputs = {truth, random_input({3}), random_input({})},
                   .call = [](In t) { return tf::where_v2(t.x, t.y, t.z); },
                   .python = "tf.where_v2(x, y, z)",
                   .dtypes = any_dtype()});
  cases.push_back({.name = "_Elementwise",
                   .inputs = {random_input({2, 3}), random_input({3})},
                   .call =
                       [](In t) {
                         const Tensor y = tf::tanh(t.x * 2.0 + t.y);
                         return y - tf::exp(t.y) * t.x;
                       },
                   .python = "tf.tanh(x * 2.0 + y) - tf.exp(y) * x",
                   .large = kTwoLarge});
  cases.push_back({.name = "Cast to float32 and back",
                   .inputs = {input_of({4}, {-0.5, 0, 1, 2.5})},
                   .call = [](In t) { return tf::cast(tf::cast(t.x, DType::float32), t.dtype); },
                   .python = "tf.cast(tf.cast(x, tf.float32), dtype)",
                   .step = 0.25});
  for (const DType by : {DType::float16, DType::bfloat16}) {
    const std::string name = dtype_name(by);
    cases.push_back({.name = "Cast to " + name + " and back",
                     .inputs = {input_of({6}, {-0.5, 0, 1, 2.5, 100, 255})},
                     .call = [by](In t) { return tf::cast(tf::cast(t.x, by), t.dtype); },
                     .python = "tf.cast(tf.cast(x, tf." + name + "), dtype)",
                     .dtypes = any_dtype(),
                     .gradients = CaseGradients::elsewhere,
                     .tolerance = 1e-7});
  }
  for (const DType to : any_dtype()) {
    const std::string name = dtype_name(to);
    cases.push_back({.name = "Cast to " + name,
                     .inputs = {input_of({6}, {-0.5, 0, 1, 2.5, 100, 255})},
                     .call = [to](In t) { return tf::cast(t.x, to); },
                     .python = "tf.cast(x, tf." + name + ")",
                     .dtypes = any_dtype(),
                     .gradients = CaseGradients::elsewhere});
  }
}

}  // namespace

void add_elementwise_cases(std::vector<OpCase>& cases) {
  add_unary_cases(cases);
  add_flat_cases(cases);
  add_binary_cases(cases);
  add_chosen_cases(cases);
}

}  // namespace towerflow::testing
