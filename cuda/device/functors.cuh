#pragma once

// The functors of elementwise ops, with the formulas of ops/math/unary_functors.h and
// binary_functors.h. Integers wrap around on overflow.

#include <cmath>

#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

/// Runs the arithmetic of integers on unsigned ones, for which overflow is defined.
template <class T, class F>
TOWERFLOW_DEVICE T wrapping(T a, T b, F f) {
  if constexpr (kIsFloat<T>) {
    return f(a, b);
  } else {
    using Unsigned = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  }
}

#define TOWERFLOW_UNARY(name, ...)             \
  struct name {                                \
    template <class T>                         \
    TOWERFLOW_DEVICE T operator()(T x) const { \
      __VA_ARGS__                              \
    }                                          \
  };
#define TOWERFLOW_BINARY(name, ...)                 \
  struct name {                                     \
    template <class T>                              \
    TOWERFLOW_DEVICE T operator()(T a, T b) const { \
      __VA_ARGS__                                   \
    }                                               \
  };
#define TOWERFLOW_TEST(name, ...)                      \
  struct name {                                        \
    template <class T>                                 \
    TOWERFLOW_DEVICE bool operator()(T a, T b) const { \
      return __VA_ARGS__;                              \
    }                                                  \
  };

TOWERFLOW_BINARY(AddV2, return wrapping(a, b, [](auto p, auto q) { return p + q; });)
TOWERFLOW_BINARY(Sub, return wrapping(a, b, [](auto p, auto q) { return p - q; });)
TOWERFLOW_BINARY(Mul, return wrapping(a, b, [](auto p, auto q) { return p * q; });)

TOWERFLOW_UNARY(
    Neg, if constexpr (kIsFloat<T>) { return -x; } else { return Sub()(T(0), x); })
TOWERFLOW_UNARY(
    Abs, if constexpr (kIsFloat<T>) { return std::fabs(x); } else { return x < 0 ? Neg()(x) : x; })
TOWERFLOW_UNARY(Square, return Mul()(x, x);)
TOWERFLOW_UNARY(Sqrt, return std::sqrt(x);)
TOWERFLOW_UNARY(Rsqrt, return T(1) / std::sqrt(x);)
TOWERFLOW_UNARY(Reciprocal, return T(1) / x;)
TOWERFLOW_UNARY(Exp, return std::exp(x);)
TOWERFLOW_UNARY(Expm1, return std::expm1(x);)
TOWERFLOW_UNARY(Log, return std::log(x);)
TOWERFLOW_UNARY(Log1p, return std::log1p(x);)
TOWERFLOW_UNARY(Sigmoid, {
  // Takes exp only of numbers that are not positive, so that it cannot overflow.
  const T e = std::exp(x >= 0 ? -x : x);
  return (x >= 0 ? T(1) : e) / (T(1) + e);
})
TOWERFLOW_UNARY(Tanh, return std::tanh(x);)
TOWERFLOW_UNARY(Softplus, {
  const T bound = std::log(std::numeric_limits<T>::epsilon()) + T(2);
  if (x > -bound) return x;
  return x < bound ? std::exp(x) : std::log1p(std::exp(x));
})
TOWERFLOW_UNARY(Softsign, return x / (std::fabs(x) + T(1));)
TOWERFLOW_UNARY(Elu, return x < 0 ? std::expm1(x) : x;)

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
TOWERFLOW_UNARY(Selu, return x < 0 ? T(kSeluScaleAlpha) * std::expm1(x) : T(kSeluScale) * x;)
TOWERFLOW_UNARY(Relu, return x <= T(0) ? T(0) : x;)
TOWERFLOW_UNARY(Relu6, return x <= T(0) ? T(0) : x > T(6) ? T(6) : x;)
TOWERFLOW_UNARY(Sin, return std::sin(x);)
TOWERFLOW_UNARY(Cos, return std::cos(x);)
TOWERFLOW_UNARY(Tan, return std::tan(x);)
TOWERFLOW_UNARY(Asin, return std::asin(x);)
TOWERFLOW_UNARY(Acos, return std::acos(x);)
TOWERFLOW_UNARY(Atan, return std::atan(x);)
TOWERFLOW_UNARY(Sinh, return std::sinh(x);)
TOWERFLOW_UNARY(Cosh, return std::cosh(x);)
TOWERFLOW_UNARY(Asinh, return std::asinh(x);)
TOWERFLOW_UNARY(Acosh, return std::acosh(x);)
TOWERFLOW_UNARY(Atanh, return std::atanh(x);)
TOWERFLOW_UNARY(Erf, return std::erf(x);)
TOWERFLOW_UNARY(Erfc, return std::erfc(x);)
TOWERFLOW_UNARY(Lgamma, return std::lgamma(x);)
TOWERFLOW_UNARY(Rint, return std::nearbyint(x);)
TOWERFLOW_UNARY(Round, return std::nearbyint(x);)
TOWERFLOW_UNARY(Sign, {
  if constexpr (kIsFloat<T>) {
    if (x != x) return x;
  }
  return static_cast<T>((x > T(0)) - (x < T(0)));
})
TOWERFLOW_UNARY(Floor, return std::floor(x);)
TOWERFLOW_UNARY(Ceil, return std::ceil(x);)
/// The derivative of log |gamma(x)|, as ops/math/gamma.h computes it.
TOWERFLOW_UNARY(Digamma, {
  constexpr double kPi = 3.14159265358979323846;
  double z = static_cast<double>(x);
  double reflected = 0;
  if (!(z > 0)) {
    if (z != z || std::floor(z) == z) return std::numeric_limits<T>::quiet_NaN();
    reflected = kPi / std::tan(kPi * z);
    z = 1 - z;
  }
  if (z > 1e300) return static_cast<T>(std::log(z));
  double shift = 0;
  for (; z < 10; ++z) shift += 1 / z;
  // The asymptotic series: log z - 1 / 2z - the sum of B_2k / (2 k z^2k).
  const double w = 1 / (z * z);
  double series = 1.0 / 12;
  series = series * w - 691.0 / 32760;
  series = series * w + 1.0 / 132;
  series = series * w - 1.0 / 240;
  series = series * w + 1.0 / 252;
  series = series * w - 1.0 / 120;
  series = series * w + 1.0 / 12;
  return static_cast<T>(std::log(z) - 0.5 / z - series * w - shift - reflected);
})

struct IsNan {
  template <class T>
  TOWERFLOW_DEVICE bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  template <class T>
  TOWERFLOW_DEVICE bool operator()(T x) const {
    return std::fabs(x) == std::numeric_limits<T>::infinity();
  }
};
struct IsFinite {
  template <class T>
  TOWERFLOW_DEVICE bool operator()(T x) const {
    return std::fabs(x) < std::numeric_limits<T>::infinity();
  }
};
struct LogicalNot {
  TOWERFLOW_DEVICE bool operator()(bool x) const { return !x; }
};

TOWERFLOW_BINARY(DivNoNan, {
  const T quotient = a / b;  // before the test, so that ptxas spills no register
  return b == T(0) ? T(0) : quotient;
})

/// What an op that some integers have no result for says of them: it fails, and gives 0 there.
struct FailsAtZero {
  template <class T>
  TOWERFLOW_DEVICE static bool fails([[maybe_unused]] T a, [[maybe_unused]] T b) {
    if constexpr (kIsFloat<T>) return false;
    return b == T(0);
  }
};
struct FailsBelowZero {
  template <class T>
  TOWERFLOW_DEVICE static bool fails([[maybe_unused]] T a, [[maybe_unused]] T b) {
    if constexpr (kIsFloat<T> || std::is_unsigned_v<T>) {
      return false;
    } else {
      return b < T(0);
    }
  }
};

/// The quotient rounded towards 0. The lowest integer divided by -1 wraps around.
template <class T>
TOWERFLOW_DEVICE T truncated_quotient(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return Sub()(T(0), a);
  }
  return static_cast<T>(a / b);
}
/// Whether two integers have different signs; unsigned ones never have.
template <class T>
TOWERFLOW_DEVICE bool have_other_signs([[maybe_unused]] T a, [[maybe_unused]] T b) {
  if constexpr (std::is_unsigned_v<T>) {
    return false;
  } else {
    return (a < T(0)) != (b < T(0));
  }
}
/// What a quotient rounded towards 0 leaves; 0 for b = 0.
template <class T>
TOWERFLOW_DEVICE T truncated_rest(T a, T b) {
  return b == T(0) ? T(0) : Sub()(a, Mul()(truncated_quotient(a, b), b));
}

#define TOWERFLOW_PARTIAL(name, fails, of_float, of_integer) \
  struct name : fails {                                      \
    template <class T>                                       \
    TOWERFLOW_DEVICE T operator()(T a, T b) const {          \
      if constexpr (kIsFloat<T>) {                           \
        of_float                                             \
      } else {                                               \
        of_integer                                           \
      }                                                      \
    }                                                        \
  };

TOWERFLOW_PARTIAL(RealDiv, FailsAtZero, return a / b;, return truncated_quotient(a, b);)
TOWERFLOW_PARTIAL(FloorDiv, FailsAtZero, return std::floor(a / b);, {
  const T quotient = truncated_quotient(a, b);
  const bool is_below = truncated_rest(a, b) != 0 && have_other_signs(a, b);
  return static_cast<T>(quotient - (is_below ? 1 : 0));
})
TOWERFLOW_PARTIAL(TruncateDiv, FailsAtZero, return std::trunc(a / b);
                  , return truncated_quotient(a, b);)
TOWERFLOW_PARTIAL(TruncateMod, FailsAtZero, return std::fmod(a, b);, return truncated_rest(a, b);)
TOWERFLOW_PARTIAL(
    FloorMod, FailsAtZero,
    {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    },
    {
      const T rest = truncated_rest(a, b);
      // The rest has the sign of a.
      return rest != 0 && have_other_signs(rest, b) ? static_cast<T>(rest + b) : rest;
    })
TOWERFLOW_PARTIAL(Pow, FailsBelowZero, return std::pow(a, b);, {
  if (FailsBelowZero::fails(a, b)) return T(0);
  T result = 1;
  for (T base = a; b > 0; b = static_cast<T>(b >> 1)) {
    if ((b & 1) != 0) result = Mul()(result, base);
    base = Mul()(base, base);
  }
  return result;
})
TOWERFLOW_BINARY(Maximum, return a > b || a != a ? a : b;)
TOWERFLOW_BINARY(Minimum, return a < b || a != a ? a : b;)
TOWERFLOW_BINARY(SquaredDifference, return Square()(Sub()(a, b));)
TOWERFLOW_BINARY(Atan2, return std::atan2(a, b);)
TOWERFLOW_BINARY(Xdivy, {
  const T quotient = a / b;  // before the test, as in DivNoNan
  return a == T(0) ? T(0) : quotient;
})
TOWERFLOW_BINARY(Xlogy, return a == T(0) ? T(0) : a * std::log(b);)
TOWERFLOW_BINARY(Xlog1py, return a == T(0) ? T(0) : a * std::log1p(b);)

// Gradients: the first operand is the result y or the gradient dy, in the order of the op's inputs.
TOWERFLOW_BINARY(SigmoidGrad, return b * a * (T(1) - a);)
TOWERFLOW_BINARY(TanhGrad, return b * (T(1) - a * a);)
TOWERFLOW_BINARY(SqrtGrad, return b * T(0.5) / a;)
TOWERFLOW_BINARY(RsqrtGrad, return T(-0.5) * b * (a * a * a);)
TOWERFLOW_BINARY(ReluGrad, return Mul()(a, b > T(0) ? T(1) : T(0));)
TOWERFLOW_BINARY(Relu6Grad, return a * T((b > T(0)) & (b < T(6)));)
TOWERFLOW_BINARY(EluGrad, return b < T(0) ? (b + T(1)) * a : a;)
TOWERFLOW_BINARY(SeluGrad, return b < T(0) ? a * (b + T(kSeluScaleAlpha)) : a * T(kSeluScale);)
TOWERFLOW_BINARY(SoftsignGrad, {
  const T above = std::fabs(b) + T(1);
  return a / (above * above);
})

TOWERFLOW_TEST(Equal, a == b)
TOWERFLOW_TEST(NotEqual, a != b)
TOWERFLOW_TEST(Greater, a > b)
TOWERFLOW_TEST(GreaterEqual, a >= b)
TOWERFLOW_TEST(Less, a < b)
TOWERFLOW_TEST(LessEqual, a <= b)
TOWERFLOW_TEST(LogicalAnd, a&& b)
TOWERFLOW_TEST(LogicalOr, a || b)

#undef TOWERFLOW_UNARY
#undef TOWERFLOW_BINARY
#undef TOWERFLOW_PARTIAL
#undef TOWERFLOW_TEST

}  // namespace towerflow::cuda::device
