#ifndef TOWERFLOW_CUDA_DEVICE_RTC_STANDARD_H
#define TOWERFLOW_CUDA_DEVICE_RTC_STANDARD_H

// What kernels use of the standard library, for NVRTC, which has no headers: it gets this one under
// each of their names, hence no #pragma once. The functions and types of CUDA are built into NVRTC.

#define __builtin_memcpy(to, from, bytes) memcpy(to, from, bytes)

namespace std {

using size_t = decltype(sizeof(0));
using uintptr_t = unsigned long long;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;

template <class T, class U>
constexpr bool is_same_v = false;
template <class T>
constexpr bool is_same_v<T, T> = true;
template <class T>
constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
constexpr bool is_signed_v = T(-1) < T(0);
template <class T>
constexpr bool is_unsigned_v = !is_signed_v<T>;

// Named by the branches for integers, which no kernel that is compiled here takes.
template <bool kFirst, class T, class U>
using conditional_t = T;
template <class T>
using make_unsigned_t = T;

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
  static constexpr float lowest() { return -0x1.fffffep127F; }
  static constexpr float epsilon() { return 0x1p-23F; }
  static float infinity() { return __int_as_float(0x7f800000); }
  static float quiet_NaN() { return __int_as_float(0x7fc00000); }
};

using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::ceil;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::expm1;
using ::fabs;
using ::floor;
using ::fmod;
using ::lgamma;
using ::log;
using ::log1p;
using ::nearbyint;
using ::pow;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::trunc;

}  // namespace std

#endif
