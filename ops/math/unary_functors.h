#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/math/binary_functors.h"

/// Elementwise functors of the unary ops. Integers wrap around on overflow.
namespace towerflow::functors {

template <class T>
struct Neg {
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return -x;
    return Sub<T>()(T(0), x);
  }
};
template <class T>
struct Abs {
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(x);
    return x < 0 ? Neg<T>()(x) : x;
  }
};
template <class T>
struct Square {
  T operator()(T x) const { return Mul<T>()(x, x); }
};
template <class T>
struct Sqrt {
  T operator()(T x) const { return std::sqrt(x); }
};
template <class T>
struct Rsqrt {
  T operator()(T x) const { return T(1) / std::sqrt(x); }
};
template <class T>
struct Reciprocal {
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) return x == 0 ? T(0) : static_cast<T>(T(1) / x);
    return static_cast<T>(T(1) / x);
  }
};
template <class T>
struct Exp {
  T operator()(T x) const { return std::exp(x); }
};
template <class T>
struct Expm1 {
  T operator()(T x) const { return std::expm1(x); }
};
template <class T>
struct Log {
  T operator()(T x) const { return std::log(x); }
};
template <class T>
struct Log1p {
  T operator()(T x) const { return std::log1p(x); }
};
template <class T>
struct Sigmoid {
  T operator()(T x) const {
    // Takes exp only of numbers that are not positive, so that it cannot overflow.
    if (x >= 0) return T(1) / (T(1) + std::exp(-x));
    const T e = std::exp(x);
    return e / (T(1) + e);
  }
};
template <class T>
struct Tanh {
  T operator()(T x) const { return std::tanh(x); }
};
/// log(exp(x) + 1), with TensorFlow's bounds beyond which x or exp(x) replaces it.
template <class T>
struct Softplus {
  T operator()(T x) const {
    const T bound = std::log(std::numeric_limits<T>::epsilon()) + T(2);
    if (x > -bound) return x;
    return x < bound ? std::exp(x) : std::log1p(std::exp(x));
  }
};
template <class T>
struct Softsign {
  T operator()(T x) const { return x / (std::fabs(x) + T(1)); }
};
template <class T>
struct Elu {
  T operator()(T x) const { return x < 0 ? std::expm1(x) : x; }
};
template <class T>
struct Selu {
  T operator()(T x) const { return x < 0 ? T(kSeluScaleAlpha) * std::expm1(x) : T(kSeluScale) * x; }
};
template <class T>
struct Relu6 {
  T operator()(T x) const {
    if (x <= T(0)) return T(0);
    return x > T(6) ? T(6) : x;
  }
};
template <class T>
struct Sin {
  T operator()(T x) const { return std::sin(x); }
};
template <class T>
struct Cos {
  T operator()(T x) const { return std::cos(x); }
};
template <class T>
struct Tan {
  T operator()(T x) const { return std::tan(x); }
};
template <class T>
struct Asin {
  T operator()(T x) const { return std::asin(x); }
};
template <class T>
struct Acos {
  T operator()(T x) const { return std::acos(x); }
};
template <class T>
struct Atan {
  T operator()(T x) const { return std::atan(x); }
};
template <class T>
struct Sinh {
  T operator()(T x) const { return std::sinh(x); }
};
template <class T>
struct Cosh {
  T operator()(T x) const { return std::cosh(x); }
};
template <class T>
struct Asinh {
  T operator()(T x) const { return std::asinh(x); }
};
template <class T>
struct Acosh {
  T operator()(T x) const { return std::acosh(x); }
};
template <class T>
struct Atanh {
  T operator()(T x) const { return std::atanh(x); }
};
template <class T>
struct Erf {
  T operator()(T x) const { return std::erf(x); }
};
template <class T>
struct Erfc {
  T operator()(T x) const { return std::erfc(x); }
};
/// log |gamma(x)|. Unlike std::lgamma, writes the sign of gamma to no variable of the program.
template <class T>
struct Lgamma {
  T operator()(T x) const {
    int sign = 0;
    if constexpr (std::is_same_v<T, float>) return ::lgammaf_r(x, &sign);
    return static_cast<T>(::lgamma_r(x, &sign));
  }
};
/// The derivative of log |gamma(x)|, NaN at 0 and the negative integers.
template <class T>
struct Digamma {
  T operator()(T x) const { return static_cast<T>(special::digamma(static_cast<double>(x))); }
};
template <class T>
struct Sign {
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return x;
    }
    return static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
template <class T>
struct Floor {
  T operator()(T x) const { return std::floor(x); }
};
template <class T>
struct Ceil {
  T operator()(T x) const { return std::ceil(x); }
};
template <class T>
struct Round {
  T operator()(T x) const { return std::nearbyint(x); }
};
template <class T>
struct IsNan {
  bool operator()(T x) const { return std::isnan(x); }
};
template <class T>
struct IsInf {
  bool operator()(T x) const { return std::isinf(x); }
};
template <class T>
struct IsFinite {
  bool operator()(T x) const { return std::isfinite(x); }
};
template <class T>
struct LogicalNot {
  bool operator()(T x) const { return !x; }
};

}  // namespace towerflow::functors
