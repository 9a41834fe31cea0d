#include "ops/math/unary.h"

#include <fmt/format.h>

#include <string_view>

#include <cmath>

#include "core/graph/op_builder.h"
#include "core/graph/scopes.h"
#include "ops/array/fill.h"
#include "ops/array/indexed_slices.h"
#include "ops/array/select.h"
#include "ops/family.h"
#include "ops/math/binary.h"
#include "ops/math/broadcast_loop.h"
#include "ops/math/sum_to_shape.h"
#include "ops/math/unary_functors.h"
#include "ops/math/unary_ops.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

enum class AcceptedDTypes { floating, signed_number, number, boolean };

/// Returns dx from x, y and dy.
using Derivative = Tensor (*)(const Tensor& x, const Tensor& y, const Tensor& dy, Site site);

struct UnaryRow {
  const char* op;
  AcceptedDTypes takes;
  bool returns_bool;
  std::variant<NoGradient, Derivative> derivative;
  UnaryLoop (*loops)(DType);
  UnaryLoop fast = nullptr;  ///< float32 loop, or null
  const char* x = "x";       ///< names of the argument and the result
  const char* y = "y";
  int cost = 1;  ///< of an element of the slow loop, for `loop_slices`
};

bool accepts(AcceptedDTypes takes, DType dtype) {
  if (takes == AcceptedDTypes::boolean) return dtype == DType::bool_;
  const bool floating = dtype == DType::float32 || dtype == DType::float64;
  if (takes == AcceptedDTypes::floating) return floating;
  if (takes == AcceptedDTypes::number && dtype == DType::uint8) return true;
  return floating || dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 ||
         dtype == DType::int64;
}

template <template <class> class F>
UnaryLoop floating_loop(DType dtype) {
  return dtype == DType::float32 ? unary_loop<float, float, F<float>>()
                                 : unary_loop<double, double, F<double>>();
}

template <template <class> class F>
UnaryLoop signed_loop(DType dtype) {
  UnaryLoop loop = nullptr;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_signed_v<T>) loop = unary_loop<T, T, F<T>>();
  });
  return loop;
}

template <template <class> class F>
UnaryLoop number_loop(DType dtype) {
  return dtype == DType::uint8 ? unary_loop<std::uint8_t, std::uint8_t, F<std::uint8_t>>()
                               : signed_loop<F>(dtype);
}

template <template <class> class F>
UnaryLoop predicate_loop(DType dtype) {
  return dtype == DType::float32 ? unary_loop<float, bool, F<float>>()
                                 : unary_loop<double, bool, F<double>>();
}

UnaryLoop not_loop(DType) { return unary_loop<bool, bool, functors::LogicalNot<bool>>(); }

template <auto kMember>
void simd_loop(const void* x, void* out, std::int64_t n) {
  (simd::loops().*kMember)(static_cast<const float*>(x), static_cast<float*>(out), n);
}

/// Adds a gradient op of the binary table, computed from the result and its gradient.
template <const char* kOp>
Tensor from_result(const Tensor&, const Tensor& y, const Tensor& dy, Site site) {
  return y.graph().add({.op = kOp, .name = kOp, .inputs = {y, dy}, .site = site}).output(0);
}
/// Likewise, from the gradient first, and from the result or the argument.
template <const char* kOp, bool kOfResult>
Tensor from_gradient(const Tensor& x, const Tensor& y, const Tensor& dy, Site site) {
  return y.graph()
      .add({.op = kOp, .name = kOp, .inputs = {dy, kOfResult ? y : x}, .site = site})
      .output(0);
}
constexpr char kEluGrad[] = "EluGrad";
constexpr char kSeluGrad[] = "SeluGrad";
constexpr char kRelu6Grad[] = "Relu6Grad";
constexpr char kSoftsignGrad[] = "SoftsignGrad";
constexpr char kSqrtGrad[] = "SqrtGrad";
constexpr char kRsqrtGrad[] = "RsqrtGrad";
constexpr char kSigmoidGrad[] = "SigmoidGrad";
constexpr char kTanhGrad[] = "TanhGrad";

Tensor times(const Tensor& a, const Tensor& b, Site site) { return multiply(a, b, {}, site); }

Tensor d_negative(const Tensor&, const Tensor&, const Tensor& dy, Site site) {
  return negative(dy, {}, site);
}
Tensor d_abs(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, sign(x, {}, site), site);
}
Tensor d_square(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  const auto after = control_dependencies({dy}, site);  // so has the constant, in TensorFlow
  return times(dy, times(x, scalar_like(x, 2, site), site), site);
}
Tensor d_reciprocal(const Tensor&, const Tensor& y, const Tensor& dy, Site site) {
  return times(negative(dy, {}, site), times(y, y, site), site);
}
Tensor d_exp(const Tensor&, const Tensor& y, const Tensor& dy, Site site) {
  return times(dy, y, site);
}
Tensor d_expm1(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, exp(x, {}, site), site);
}
Tensor d_log(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, reciprocal(x, {}, site), site);
}
Tensor d_log1p(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  const Tensor above = add(scalar_like(x, 1, site), x, {}, site);
  return times(dy, reciprocal(above, {}, site), site);
}
Tensor d_sin(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, cos(x, {}, site), site);
}
Tensor d_cos(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(negative(dy, {}, site), sin(x, {}, site), site);
}
Tensor d_softplus(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, sigmoid(x, {}, site), site);
}
Tensor d_tan(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  const Tensor secant = reciprocal(cos(x, {}, site), {}, site);
  return times(square(secant, {}, site), dy, site);
}
/// 1 / sqrt(1 - x^2)
Tensor arc_slope(const Tensor& x, Site site) {
  const Tensor squared = square(x, {}, site);
  const Tensor rest = subtract(scalar_like(x, 1, site), squared, {}, site);
  return reciprocal(sqrt(rest, {}, site), {}, site);
}
Tensor d_asin(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, arc_slope(x, site), site);
}
Tensor d_acos(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(negative(dy, {}, site), arc_slope(x, site), site);
}
Tensor d_atan(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  const Tensor squared = square(x, {}, site);
  const Tensor above = add(scalar_like(x, 1, site), squared, {}, site);
  return times(dy, reciprocal(above, {}, site), site);
}
Tensor d_sinh(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, cosh(x, {}, site), site);
}
Tensor d_cosh(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, sinh(x, {}, site), site);
}
Tensor d_asinh(const Tensor&, const Tensor& y, const Tensor& dy, Site site) {
  return truediv(dy, cosh(y, {}, site), {}, site);
}
Tensor d_acosh(const Tensor&, const Tensor& y, const Tensor& dy, Site site) {
  return truediv(dy, sinh(y, {}, site), {}, site);
}
Tensor d_atanh(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  const Tensor squared = square(x, {}, site);
  const Tensor rest = subtract(scalar_like(x, 1, site), squared, {}, site);
  return times(dy, reciprocal(rest, {}, site), site);
}
/// factor * exp(-x^2) * dy
Tensor gaussian_slope(const Tensor& x, const Tensor& dy, double factor, Site site) {
  const Tensor scaled = times(dy, scalar_like(dy, factor, site), site);
  const Tensor minus = negative(square(x, {}, site), {}, site);
  return times(scaled, exp(minus, {}, site), site);
}
constexpr double kTwoOverRootPi = 1.1283791670955125739;
Tensor d_erf(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return gaussian_slope(x, dy, kTwoOverRootPi, site);
}
Tensor d_erfc(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return gaussian_slope(x, dy, -kTwoOverRootPi, site);
}
Tensor d_lgamma(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  return times(dy, digamma(x, {}, site), site);
}
Tensor d_digamma(const Tensor& x, const Tensor&, const Tensor& dy, Site site) {
  const Tensor one = scalar_like(x, 1, site);
  return times(dy, polygamma(one, x, {}, site), site);
}
Tensor d_sign(const Tensor& x, const Tensor&, const Tensor&, Site site) {
  return zeros_like(x, {}, site);
}

const std::vector<UnaryRow>& unary_rows() {
  namespace f = functors;
  static const NoGradient steps{"it is piecewise constant"};
  static const NoGradient bools{"the result has dtype bool"};
  static const NoGradient tests{"the result has dtype bool", false};
  static const std::vector<UnaryRow> rows = {
      {"Neg", AcceptedDTypes::signed_number, false, d_negative, signed_loop<f::Neg>,
       simd_loop<&simd::Loops::neg>},
      {"Abs", AcceptedDTypes::signed_number, false, d_abs, signed_loop<f::Abs>,
       simd_loop<&simd::Loops::abs>},
      {"Square", AcceptedDTypes::number, false, d_square, number_loop<f::Square>,
       simd_loop<&simd::Loops::square>},
      {"Sqrt", AcceptedDTypes::floating, false, from_result<kSqrtGrad>, floating_loop<f::Sqrt>,
       simd_loop<&simd::Loops::sqrt>},
      {"Rsqrt", AcceptedDTypes::floating, false, from_result<kRsqrtGrad>, floating_loop<f::Rsqrt>,
       simd_loop<&simd::Loops::rsqrt>},
      {"Reciprocal", AcceptedDTypes::signed_number, false, d_reciprocal,
       signed_loop<f::Reciprocal>},
      {"Exp", AcceptedDTypes::floating, false, d_exp, floating_loop<f::Exp>,
       simd_loop<&simd::Loops::exp>},
      {"Expm1", AcceptedDTypes::floating, false, d_expm1, floating_loop<f::Expm1>,
       simd_loop<&simd::Loops::expm1>},
      {"Log", AcceptedDTypes::floating, false, d_log, floating_loop<f::Log>,
       simd_loop<&simd::Loops::log>},
      {"Log1p", AcceptedDTypes::floating, false, d_log1p, floating_loop<f::Log1p>,
       simd_loop<&simd::Loops::log1p>},
      {"Sigmoid", AcceptedDTypes::floating, false, from_result<kSigmoidGrad>,
       floating_loop<f::Sigmoid>, simd_loop<&simd::Loops::sigmoid>},
      {"Tanh", AcceptedDTypes::floating, false, from_result<kTanhGrad>, floating_loop<f::Tanh>,
       simd_loop<&simd::Loops::tanh>},
      {"Softplus", AcceptedDTypes::floating, false, d_softplus, floating_loop<f::Softplus>,
       simd_loop<&simd::Loops::softplus>, "features", "activations"},
      {"Softsign", AcceptedDTypes::floating, false, from_gradient<kSoftsignGrad, false>,
       floating_loop<f::Softsign>, nullptr, "features", "activations"},
      {"Elu", AcceptedDTypes::floating, false, from_gradient<kEluGrad, true>, floating_loop<f::Elu>,
       simd_loop<&simd::Loops::elu>, "features", "activations"},
      {"Selu", AcceptedDTypes::floating, false, from_gradient<kSeluGrad, true>,
       floating_loop<f::Selu>, simd_loop<&simd::Loops::selu>, "features", "activations"},
      {"Relu6", AcceptedDTypes::number, false, from_gradient<kRelu6Grad, true>,
       number_loop<f::Relu6>, simd_loop<&simd::Loops::relu6>, "features", "activations"},
      {"Sin", AcceptedDTypes::floating, false, d_sin, floating_loop<f::Sin>,
       simd_loop<&simd::Loops::sin>},
      {"Cos", AcceptedDTypes::floating, false, d_cos, floating_loop<f::Cos>,
       simd_loop<&simd::Loops::cos>},
      {"Tan", AcceptedDTypes::floating, false, d_tan, floating_loop<f::Tan>,
       simd_loop<&simd::Loops::tan>},
      {"Asin", AcceptedDTypes::floating, false, d_asin, floating_loop<f::Asin>,
       simd_loop<&simd::Loops::asin>},
      {"Acos", AcceptedDTypes::floating, false, d_acos, floating_loop<f::Acos>,
       simd_loop<&simd::Loops::acos>},
      {"Atan", AcceptedDTypes::floating, false, d_atan, floating_loop<f::Atan>,
       simd_loop<&simd::Loops::atan>},
      {"Sinh", AcceptedDTypes::floating, false, d_sinh, floating_loop<f::Sinh>,
       simd_loop<&simd::Loops::sinh>},
      {"Cosh", AcceptedDTypes::floating, false, d_cosh, floating_loop<f::Cosh>,
       simd_loop<&simd::Loops::cosh>},
      {"Asinh", AcceptedDTypes::floating, false, d_asinh, floating_loop<f::Asinh>,
       simd_loop<&simd::Loops::asinh>},
      {"Acosh", AcceptedDTypes::floating, false, d_acosh, floating_loop<f::Acosh>,
       simd_loop<&simd::Loops::acosh>},
      {"Atanh", AcceptedDTypes::floating, false, d_atanh, floating_loop<f::Atanh>,
       simd_loop<&simd::Loops::atanh>},
      {"Erf", AcceptedDTypes::floating, false, d_erf, floating_loop<f::Erf>,
       simd_loop<&simd::Loops::erf>},
      {"Erfc", AcceptedDTypes::floating, false, d_erfc, floating_loop<f::Erfc>,
       simd_loop<&simd::Loops::erfc>},
      {"Lgamma", AcceptedDTypes::floating, false, d_lgamma, floating_loop<f::Lgamma>, nullptr, "x",
       "y", 16},
      {"Digamma", AcceptedDTypes::floating, false, d_digamma, floating_loop<f::Digamma>, nullptr,
       "x", "y", 16},
      {"Rint", AcceptedDTypes::floating, false, steps, floating_loop<f::Round>,
       simd_loop<&simd::Loops::round>},
      {"Sign", AcceptedDTypes::signed_number, false, d_sign, signed_loop<f::Sign>,
       simd_loop<&simd::Loops::sign>},
      {"Floor", AcceptedDTypes::floating, false, steps, floating_loop<f::Floor>,
       simd_loop<&simd::Loops::floor>},
      {"Ceil", AcceptedDTypes::floating, false, steps, floating_loop<f::Ceil>,
       simd_loop<&simd::Loops::ceil>},
      {"Round", AcceptedDTypes::floating, false, steps, floating_loop<f::Round>,
       simd_loop<&simd::Loops::round>},
      {"IsNan", AcceptedDTypes::floating, true, tests, predicate_loop<f::IsNan>},
      {"IsInf", AcceptedDTypes::floating, true, tests, predicate_loop<f::IsInf>},
      {"IsFinite", AcceptedDTypes::floating, true, tests, predicate_loop<f::IsFinite>},
      {"LogicalNot", AcceptedDTypes::boolean, true, bools, not_loop},
  };
  return rows;
}

std::variant<NoGradient, GradientRule> gradient_of(const UnaryRow& row) {
  if (const auto* none = std::get_if<NoGradient>(&row.derivative)) return *none;
  const Derivative derivative = std::get<Derivative>(row.derivative);
  const bool negates = std::string_view(row.op) == "Neg";
  return GradientRule([derivative, negates](const Operation& op,
                                            const std::vector<OptionalGradient>& dys)
                          -> std::vector<OptionalGradient> {
    if (negates && !dys[0]->is_dense()) {  // slices stay slices
      IndexedSlices slices = dys[0]->slices();
      slices.values = negative(slices.values, {}, op.site());
      return {slices};
    }
    return {derivative(op.input(0), op.output(0), dense_gradient(dys[0], op.site()), op.site())};
  });
}

Tensor add_unary(const char* op, const Operand& x, const UnaryOptions& options, Site site) {
  return OpBuilder(op, options.name, site, {&x}).input(x, "x").output();
}

}  // namespace

UnaryLoop unary_loop_of(std::string_view op, DType dtype) {
  for (const UnaryRow& row : unary_rows()) {
    if (op != row.op || !accepts(row.takes, dtype)) continue;
    return row.fast != nullptr && dtype == DType::float32 ? row.fast : row.loops(dtype);
  }
  return nullptr;
}

static void register_unary_ops(OpRegistry& registry) {
  for (const UnaryRow& row : unary_rows()) {
    const char* type = row.takes == AcceptedDTypes::boolean ? "bool" : "T";
    registry.add(
        {.name = row.op,
         .inputs = {fmt::format("{}: {}", row.x, type)},
         .outputs = {fmt::format("{}: {}", row.y, row.returns_bool ? "bool" : type)},
         .shape =
             [takes = row.takes, returns_bool = row.returns_bool](InferenceContext& context) {
               const DType dtype = context.dtype(0);
               if (!accepts(takes, dtype)) {
                 context.fail_type(
                     fmt::format("Value passed to parameter 'x' has "
                                 "DataType {}, which the op does not take",
                                 dtype_name(dtype)));
               }
               context.add_output(returns_bool ? DType::bool_ : dtype, context.shape(0));
             },
         .gradient = gradient_of(row),
         .elementwise = elementwise_always});
  }
}

static void register_unary_kernels(KernelTable& table) {
  for (const UnaryRow& row : unary_rows()) {
    if (row.fast != nullptr) {
      table.add(
          {.op = row.op,
           .label = "simd",
           .accepts =
               [](const KernelRequest& request) {
                 return request.inputs[0].dtype == DType::float32;
               },
           .prepare = [fast = row.fast](
                          const KernelRequest& request) { return unary_kernel(request, fast); }});
    }
    table.add({.op = row.op,
               .label = "reference",
               .accepts = {},
               .prepare = [loops = row.loops, cost = row.cost](const KernelRequest& request) {
                 return unary_kernel(request, loops(request.inputs[0].dtype), cost);
               }});
  }
}

OpFamily unary_family() { return {.ops = register_unary_ops, .kernels = register_unary_kernels}; }

#define TOWERFLOW_UNARY(function, op)                                  \
  Tensor function(const Operand& x, UnaryOptions options, Site site) { \
    return add_unary(op, x, options, site);                            \
  }
TOWERFLOW_UNARY(negative, "Neg")
TOWERFLOW_UNARY(abs, "Abs")
TOWERFLOW_UNARY(square, "Square")
TOWERFLOW_UNARY(sqrt, "Sqrt")
TOWERFLOW_UNARY(rsqrt, "Rsqrt")
TOWERFLOW_UNARY(reciprocal, "Reciprocal")
TOWERFLOW_UNARY(exp, "Exp")
TOWERFLOW_UNARY(expm1, "Expm1")
TOWERFLOW_UNARY(log, "Log")
TOWERFLOW_UNARY(log1p, "Log1p")
TOWERFLOW_UNARY(sigmoid, "Sigmoid")
TOWERFLOW_UNARY(tanh, "Tanh")
TOWERFLOW_UNARY(sin, "Sin")
TOWERFLOW_UNARY(cos, "Cos")
TOWERFLOW_UNARY(tan, "Tan")
TOWERFLOW_UNARY(asin, "Asin")
TOWERFLOW_UNARY(acos, "Acos")
TOWERFLOW_UNARY(atan, "Atan")
TOWERFLOW_UNARY(sinh, "Sinh")
TOWERFLOW_UNARY(cosh, "Cosh")
TOWERFLOW_UNARY(asinh, "Asinh")
TOWERFLOW_UNARY(acosh, "Acosh")
TOWERFLOW_UNARY(atanh, "Atanh")
TOWERFLOW_UNARY(erf, "Erf")
TOWERFLOW_UNARY(erfc, "Erfc")
TOWERFLOW_UNARY(lgamma, "Lgamma")
TOWERFLOW_UNARY(digamma, "Digamma")
TOWERFLOW_UNARY(rint, "Rint")
TOWERFLOW_UNARY(floor, "Floor")
TOWERFLOW_UNARY(ceil, "Ceil")
TOWERFLOW_UNARY(is_nan, "IsNan")
TOWERFLOW_UNARY(is_inf, "IsInf")
TOWERFLOW_UNARY(is_finite, "IsFinite")
TOWERFLOW_UNARY(logical_not, "LogicalNot")
#undef TOWERFLOW_UNARY

Tensor sign(const Operand& x, UnaryOptions options, Site site) {
  return add_unary("Sign", convert_to_tensor(x, {}, site), options,
                   site);  // outside the op's scope
}

Tensor round(const Operand& x, UnaryOptions options, Site site) {
  const Tensor tensor = convert_operand(graph_of(x), x, "x", std::nullopt);
  if (is_integer(tensor.dtype())) return tensor;
  return add_unary("Round", Operand(tensor, site), options, site);
}

template <class Unused>
Tensor types::operator-(const Operand& x) {
  return add_unary("Neg", x, {}, x.site());
}
template Tensor types::operator-<void>(const Operand&);

Gradient types::operator-(const PresentGradient& x) {
  const Tensor values = x.gradient().representative();
  return x.gradient().with_values(add_unary("Neg", Operand(values, x.site()), {}, x.site()));
}

}  // namespace towerflow
