#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/graph/error.h"
#include "ops/math/gamma.h"

/// Elementwise functors of the binary ops. Integers wrap around on overflow.
namespace towerflow::functors {

/// The unsigned type in which integers of type T are computed, so that overflow wraps around.
template <class T>
using WrappingType = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;

template <class T, class F>
T apply_wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    return static_cast<T>(f(static_cast<WrappingType<T>>(a), static_cast<WrappingType<T>>(b)));
  }
}

/// The scale of the SELU paper, and scale times alpha.
inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

template <class T>
struct Add {
  T operator()(T a, T b) const {
    return apply_wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
template <class T>
struct Sub {
  T operator()(T a, T b) const {
    return apply_wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
template <class T>
struct Mul {
  T operator()(T a, T b) const {
    return apply_wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
template <class T>
struct FloorDiv {
  static constexpr bool kMayThrow = !std::is_floating_point_v<T>;
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(a / b);
    } else {
      if (b == 0) throw errors::InvalidArgumentError("Integer division by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return Sub<T>()(T(0), a);
        const T quotient = static_cast<T>(a / b);
        return static_cast<T>(quotient - ((a % b != 0) && ((a < 0) != (b < 0))));
      }
      return static_cast<T>(a / b);
    }
  }
};
template <class T>
struct TruncateDiv {
  static constexpr bool kMayThrow = !std::is_floating_point_v<T>;
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::trunc(a / b);
    } else {
      if (b == 0) throw errors::InternalError("Integer division by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return Sub<T>()(T(0), a);
      }
      return static_cast<T>(a / b);
    }
  }
};
template <class T>
struct TruncateMod {
  static constexpr bool kMayThrow = !std::is_floating_point_v<T>;
  static constexpr int kCost = 16;
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0) throw errors::InternalError("Integer division by zero");
      return b == T(-1) ? T(0) : static_cast<T>(a % b);
    }
  }
};
template <class T>
struct FloorMod {
  static constexpr bool kMayThrow = !std::is_floating_point_v<T>;
  static constexpr int kCost = 16;
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (b == 0) throw errors::InvalidArgumentError("Integer division by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return T(0);
        const T rest = static_cast<T>(a % b);
        return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
      }
      return static_cast<T>(a % b);
    }
  }
};
template <class T>
struct RealDiv {
  static constexpr bool kMayThrow = !std::is_floating_point_v<T>;
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) throw errors::InvalidArgumentError("Integer division by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return Sub<T>()(T(0), a);
      }
      return static_cast<T>(a / b);
    }
  }
};
template <class T>
struct DivNoNan {
  T operator()(T a, T b) const { return b == T(0) ? T(0) : a / b; }
};
template <class T>
struct Maximum {
  T operator()(T a, T b) const { return a > b || a != a ? a : b; }
};
template <class T>
struct Minimum {
  T operator()(T a, T b) const { return a < b || a != a ? a : b; }
};
template <class T>
struct Pow {
  static constexpr bool kMayThrow = !std::is_floating_point_v<T>;
  static constexpr int kCost = 16;
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(a, b);
    } else {
      if (b < 0) {
        throw errors::InvalidArgumentError("Integers to negative integer powers are not allowed");
      }
      T result = 1;
      for (T base = a; b > 0; b = static_cast<T>(b >> 1)) {
        if (b & 1) result = Mul<T>()(result, base);
        base = Mul<T>()(base, base);
      }
      return result;
    }
  }
};
template <class T>
struct SquaredDifference {
  T operator()(T a, T b) const {
    const T difference = Sub<T>()(a, b);
    return Mul<T>()(difference, difference);
  }
};

/// The angle of the point (x, y); the first operand is y.
template <class T>
struct Atan2 {
  T operator()(T y, T x) const { return std::atan2(y, x); }
};
/// x / y, x log(y) and x log(1 + y), each 0 where x is 0.
template <class T>
struct Xdivy {
  T operator()(T x, T y) const { return x == T(0) ? T(0) : x / y; }
};
template <class T>
struct Xlogy {
  T operator()(T x, T y) const { return x == T(0) ? T(0) : x * std::log(y); }
};
template <class T>
struct Xlog1py {
  T operator()(T x, T y) const { return x == T(0) ? T(0) : x * std::log1p(y); }
};
template <class T>
struct Polygamma {
  static constexpr int kCost = 64;
  T operator()(T n, T x) const {
    return static_cast<T>(special::polygamma(static_cast<double>(n), static_cast<double>(x)));
  }
};

template <class T>
struct Equal {
  bool operator()(T a, T b) const { return a == b; }
};
template <class T>
struct NotEqual {
  bool operator()(T a, T b) const { return a != b; }
};
template <class T>
struct Greater {
  bool operator()(T a, T b) const { return a > b; }
};
template <class T>
struct GreaterEqual {
  bool operator()(T a, T b) const { return a >= b; }
};
template <class T>
struct Less {
  bool operator()(T a, T b) const { return a < b; }
};
template <class T>
struct LessEqual {
  bool operator()(T a, T b) const { return a <= b; }
};
template <class T>
struct LogicalAnd {
  bool operator()(T a, T b) const { return a & b; }
};
template <class T>
struct LogicalOr {
  bool operator()(T a, T b) const { return a | b; }
};

/// Gradients computed from the result y and its gradient dy.
template <class T>
struct SigmoidGrad {
  T operator()(T y, T dy) const { return dy * y * (T(1) - y); }
};
template <class T>
struct TanhGrad {
  T operator()(T y, T dy) const { return dy * (T(1) - y * y); }
};
template <class T>
struct SqrtGrad {
  T operator()(T y, T dy) const { return dy * T(0.5) / y; }
};
template <class T>
struct RsqrtGrad {
  T operator()(T y, T dy) const { return T(-0.5) * dy * (y * y * y); }
};

/// Gradients of activations, computed from the gradient dy and the argument x or the result y.
template <class T>
struct Relu6Grad {
  T operator()(T dy, T x) const { return static_cast<T>(dy * T((x > T(0)) & (x < T(6)))); }
};
template <class T>
struct EluGrad {
  T operator()(T dy, T y) const { return y < T(0) ? (y + T(1)) * dy : dy; }
};
template <class T>
struct SeluGrad {
  T operator()(T dy, T y) const {
    return y < T(0) ? dy * (y + T(kSeluScaleAlpha)) : dy * T(kSeluScale);
  }
};
template <class T>
struct SoftsignGrad {
  T operator()(T dy, T x) const {
    const T above = std::fabs(x) + T(1);
    return dy / (above * above);
  }
};

}  // namespace towerflow::functors
