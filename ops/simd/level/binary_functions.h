// Part of level.cc: functions of two numbers, made of those of one. All are correct for every
// input.
#pragma once

#include "ops/simd/level/more_functions.h"

namespace towerflow::simd {
namespace {

struct XlogyOf {
  static constexpr bool kVector = true;
  static SIMD_INLINE Floats apply(Floats x, Floats y) {
    return select(x == 0.0f, splat(0.0f), x * log_of(y));
  }
};
struct Xlog1pyOf {
  static constexpr bool kVector = true;
  static SIMD_INLINE Floats apply(Floats x, Floats y) {
    return select(x == 0.0f, splat(0.0f), x * log1p_of(y));
  }
};

// The angle of (x, y): atan |y / x|, taken from pi if x is negative, even if x is -0. The quotient
// is 1 for two infinities and 0 for two zeros.
struct Atan2Of {
  static constexpr bool kVector = true;
  static SIMD_INLINE Floats apply(Floats y, Floats x) {
    const Floats high = abs_of(y), wide = abs_of(x);
    Floats quotient = select(high == wide, splat(1.0f), high / wide);
    quotient = select(high == 0.0f, splat(0.0f), quotient);
    const Floats angle = atan_of(quotient);
    const Floats turned = select(bits(x) < 0, 2.0f * kHalfPi - angle, angle);
    return with_sign_of(y, select(x != x, x, turned));
  }
};

}  // namespace
}  // namespace towerflow::simd
