#include "ops/math/binary_functors.h"
#include "ops/math/binary_ops.h"
#include "ops/simd/loops.h"

namespace towerflow {
namespace {

bool is_numeric(DType dtype) {
  return dtype != DType::bool_ && dispatch_dtype(dtype, []<class T>() {});
}
bool floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }
bool has_remainder(DType dtype) {
  return floating(dtype) || dtype == DType::int32 || dtype == DType::int64;
}
bool boolean(DType dtype) { return dtype == DType::bool_; }
bool comparable(DType dtype) {
  return dtype == DType::string || dispatch_dtype(dtype, []<class T>() {});
}

template <class T>
void power_loop(const void* a, const void* b, void* out, std::int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T exponent = *static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  if (exponent != T(2)) {
    for (std::int64_t i = 0; i < n; ++i) z[i] = std::pow(x[i], exponent);
    return;
  }
  TOWERFLOW_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) z[i] = x[i] * x[i];
}

/// Returns loops over numbers whose result has the operands' type.
template <template <class> class F>
BinaryLoops number_loops(DType dtype) {
  BinaryLoops loops;
  dispatch_dtype(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) loops = binary_loops<T, T, F<T>>();
  });
  return loops;
}

template <template <class> class F>
BinaryLoops floating_loops(DType dtype) {
  return dtype == DType::float32 ? binary_loops<float, float, F<float>>()
                                 : binary_loops<double, double, F<double>>();
}

/// Powers, and squares where the exponent of all elements is 2.
BinaryLoops pow_loops(DType dtype) {
  BinaryLoops loops = number_loops<functors::Pow>(dtype);
  if (dtype == DType::float32) loops.scalar_right = power_loop<float>;
  if (dtype == DType::float64) loops.scalar_right = power_loop<double>;
  return loops;
}

template <template <class> class F>
BinaryLoops remainder_loops(DType dtype) {
  if (dtype == DType::int32) return binary_loops<std::int32_t, std::int32_t, F<std::int32_t>>();
  if (dtype == DType::int64) return binary_loops<std::int64_t, std::int64_t, F<std::int64_t>>();
  return floating_loops<F>(dtype);
}

/// Returns loops over any dtype whose result is bool.
template <template <class> class F>
BinaryLoops bool_loops(DType dtype) {
  BinaryLoops loops;
  if (dtype == DType::string) return binary_loops<std::string, bool, F<std::string>>();
  dispatch_dtype(dtype, [&]<class T>() { loops = binary_loops<T, bool, F<T>>(); });
  return loops;
}

template <template <class> class F>
BinaryLoops logic_loops(DType) {
  return binary_loops<bool, bool, F<bool>>();
}

/// Returns the float32 loops for the processor's SIMD level.
template <simd::Binary kOp>
BinaryLoops simd_loops() {
  constexpr auto kIndex = static_cast<int>(kOp);
  return {[](const void* a, const void* b, void* out, std::int64_t n) {
            simd::loops().binary[kIndex](static_cast<const float*>(a), static_cast<const float*>(b),
                                         static_cast<float*>(out), n);
          },
          [](const void* a, const void* b, void* out, std::int64_t n) {
            simd::loops().binary_scalar_right[kIndex](static_cast<const float*>(a),
                                                      static_cast<const float*>(b),
                                                      static_cast<float*>(out), n);
          },
          [](const void* a, const void* b, void* out, std::int64_t n) {
            simd::loops().binary_scalar_left[kIndex](static_cast<const float*>(a),
                                                     static_cast<const float*>(b),
                                                     static_cast<float*>(out), n);
          }};
}

}  // namespace

const std::vector<BinaryRow>& binary_rows() {
  namespace g = binary_gradients;
  namespace f = functors;
  using simd::Binary;
  // Local statics, since a program may register a gradient before main begins.
  static const NoGradient compares{"the result has dtype bool"};
  static const NoGradient logic{"bools carry no gradient"};
  static const NoGradient steps{"it is piecewise constant"};
  static const NoGradient unregistered{"TensorFlow has none; that of floormod is the same", false};
  static const std::vector<BinaryRow> rows = {
      {"AddV2", is_numeric, false, g::add, number_loops<f::Add>, simd_loops<Binary::add>},
      {"Sub", is_numeric, false, g::sub, number_loops<f::Sub>, simd_loops<Binary::sub>},
      {"Mul", is_numeric, false, g::mul, number_loops<f::Mul>, simd_loops<Binary::mul>},
      {"RealDiv", is_numeric, false, g::real_div, number_loops<f::RealDiv>,
       simd_loops<Binary::div>},
      {"DivNoNan", floating, false, g::div_no_nan, floating_loops<f::DivNoNan>,
       simd_loops<Binary::div_no_nan>},
      {"FloorDiv", is_numeric, false, steps, number_loops<f::FloorDiv>,
       simd_loops<Binary::floor_div>},
      {"TruncateDiv", is_numeric, false, steps, number_loops<f::TruncateDiv>,
       simd_loops<Binary::truncate_div>},
      {"TruncateMod", has_remainder, false, unregistered, remainder_loops<f::TruncateMod>, nullptr},
      {"FloorMod", is_numeric, false, g::floor_mod, number_loops<f::FloorMod>, nullptr},
      {"Maximum", is_numeric, false, g::maximum, number_loops<f::Maximum>,
       simd_loops<Binary::maximum>},
      {"Minimum", is_numeric, false, g::minimum, number_loops<f::Minimum>,
       simd_loops<Binary::minimum>},
      {"Pow", is_numeric, false, g::pow, pow_loops, nullptr},
      {"SquaredDifference", is_numeric, false, g::squared_difference,
       number_loops<f::SquaredDifference>, nullptr},
      {"Atan2", floating, false, g::atan2, floating_loops<f::Atan2>, simd_loops<Binary::atan2>, "y",
       "x"},
      {"Xdivy", floating, false, g::xdivy, floating_loops<f::Xdivy>, simd_loops<Binary::xdivy>},
      {"Xlogy", floating, false, g::xlogy, floating_loops<f::Xlogy>, simd_loops<Binary::xlogy>},
      {"Xlog1py", floating, false, g::xlog1py, floating_loops<f::Xlog1py>,
       simd_loops<Binary::xlog1py>},
      {"Polygamma", floating, false, g::polygamma, floating_loops<f::Polygamma>, nullptr, "a", "x"},
      {"Equal", comparable, true, compares, bool_loops<f::Equal>, nullptr},
      {"NotEqual", comparable, true, compares, bool_loops<f::NotEqual>, nullptr},
      {"Greater", is_numeric, true, compares, bool_loops<f::Greater>, nullptr},
      {"GreaterEqual", is_numeric, true, compares, bool_loops<f::GreaterEqual>, nullptr},
      {"Less", is_numeric, true, compares, bool_loops<f::Less>, nullptr},
      {"LessEqual", is_numeric, true, compares, bool_loops<f::LessEqual>, nullptr},
      {"LogicalAnd", boolean, true, logic, logic_loops<f::LogicalAnd>, nullptr},
      {"LogicalOr", boolean, true, logic, logic_loops<f::LogicalOr>, nullptr},
      {"SigmoidGrad", floating, false, g::sigmoid_grad, floating_loops<f::SigmoidGrad>, nullptr,
       "y", "dy"},
      {"TanhGrad", floating, false, g::tanh_grad, floating_loops<f::TanhGrad>, nullptr, "y", "dy"},
      {"SqrtGrad", floating, false, g::sqrt_grad, floating_loops<f::SqrtGrad>, nullptr, "y", "dy"},
      {"RsqrtGrad", floating, false, g::rsqrt_grad, floating_loops<f::RsqrtGrad>, nullptr, "y",
       "dy"},
      {"Relu6Grad", is_numeric, false, g::relu6_grad, number_loops<f::Relu6Grad>, nullptr,
       "gradients", "features", "backprops"},
      {"EluGrad", floating, false, g::elu_grad, floating_loops<f::EluGrad>, nullptr, "gradients",
       "outputs", "backprops"},
      {"SeluGrad", floating, false, g::selu_grad, floating_loops<f::SeluGrad>, nullptr, "gradients",
       "outputs", "backprops"},
      {"SoftsignGrad", floating, false, g::softsign_grad, floating_loops<f::SoftsignGrad>, nullptr,
       "gradients", "features", "backprops"},
  };
  return rows;
}

}  // namespace towerflow
