// Part of level.cc: functions of one number. All are correct for every input, including infinities,
// NaN, both zeros and denormal numbers.
#pragma once

#include "ops/simd/level/vector.h"

namespace towerflow::simd {
namespace {

constexpr float kInfinity = __builtin_inff();

SIMD_INLINE Floats abs_of(Floats x) { return from_bits(bits(x) & 0x7FFFFFFF); }
SIMD_INLINE Floats with_sign_of(Floats sign, Floats x) {
  return from_bits(bits(x) | (bits(sign) & INT32_MIN));
}

// 2^k for k in -126 .. 127.
SIMD_INLINE Floats power_of_two(Ints k) { return from_bits((k + 127) << 23); }

// A reduction x = n ln 2 + r, with e^r - 1 in `above_one`.
struct Exponential {
  Ints n;
  Floats above_one;
};

// Cody and Waite's reduction, then the polynomial of Cephes' expf in r.
SIMD_INLINE Exponential exponential_of(Floats x) {
  const float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Floats shifted = x * 1.44269504088896341f + kMagic;
  const Floats k = shifted - kMagic;
  const Floats r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  Floats p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {bits(shifted) - 0x4B400000, p * (r * r) + r};
}

// NaN compares false and so is kept.
SIMD_INLINE Floats clamped(Floats x, float low, float high) {
  x = select(x < low, splat(low), x);
  return select(x > high, splat(high), x);
}

// The power is applied in two halves, so that results below the normal range are rounded only once.
SIMD_INLINE Floats exp_of(Floats x) {
  const Exponential e = exponential_of(clamped(x, -105.0f, 89.0f));
  const Ints half = e.n >> 1;
  return (e.above_one + 1.0f) * power_of_two(half) * power_of_two(e.n - half);
}

// e^x - 1 = 2^n (e^r - 1) + (2^n - 1), which loses no precision if n is zero.
SIMD_INLINE Floats expm1_of(Floats x) {
  const Exponential e = exponential_of(clamped(x, -18.0f, 89.0f));
  const Ints half = e.n >> 1;
  const Floats power = power_of_two(e.n - half);
  const Floats y =
      power_of_two(half) * (power * e.above_one + (power - power_of_two(Ints{} - half)));
  return select(x == 0.0f, x, y);
}

// Cephes' logf: x = m 2^k with m between sqrt(1/2) and sqrt(2), and a polynomial in m - 1.
SIMD_INLINE Floats log_of(Floats x) {
  const Ints small = x < 1.17549435e-38f;
  const Floats normal = select(small, x * 8388608.0f, x);
  const Ints kRootOfHalf = Ints{} + 0x3F3504F3;
  const Ints beyond = bits(normal) - kRootOfHalf;
  const Floats k = __builtin_convertvector((beyond >> 23) - (small & 23), Floats);
  const Floats f = from_bits((beyond & 0x7FFFFF) + kRootOfHalf) - 1.0f;
  const Floats square = f * f;
  Floats p = splat(7.0376836292e-2f);
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  p = p * f * square + k * -2.12194440e-4f;
  Floats y = (f + (p - 0.5f * square)) + k * 0.693359375f;
  y = select(x > 3.4028234664e38f, x, y);
  y = select(x == 0.0f, splat(-kInfinity), y);
  return select((x < 0.0f) | (x != x), splat(__builtin_nanf("")), y);
}

// log(1 + x), corrected for what the sum lost: (x - ((1 + x) - 1)) / (1 + x).
SIMD_INLINE Floats log1p_of(Floats x) {
  const Floats sum = x + 1.0f;
  const Floats log = log_of(sum);
  const Floats y = log + (x - (sum - 1.0f)) / sum;
  const Ints as_it_is = (x > 1e30f) | (sum == 0.0f);
  return select(x == 0.0f, x, select(as_it_is, log, y));
}

SIMD_INLINE Floats sigmoid_of(Floats x) {
  const Floats e = exp_of(-abs_of(x));  // exp of numbers <= 0 does not overflow
  return select(x >= 0.0f, splat(1.0f), e) / (e + 1.0f);
}

// tanh |x| = (e^2|x| - 1) / (e^2|x| + 1), which rounds to 1 from 9.02 on.
SIMD_INLINE Floats tanh_of(Floats x) {
  const Floats e = expm1_of(2.0f * clamped(abs_of(x), 0.0f, 10.0f));
  return with_sign_of(x, e / (e + 2.0f));
}

// log(1 + e^x), which rounds to x where e^-x is below half an ulp.
SIMD_INLINE Floats softplus_of(Floats x) { return select(x > 16.0f, x, log1p_of(exp_of(x))); }

SIMD_INLINE Floats elu_of(Floats x) { return select(x < 0.0f, expm1_of(x), x); }
SIMD_INLINE Floats selu_of(Floats x) {
  return select(x < 0.0f, 1.75809934f * expm1_of(x), 1.05070099f * x);
}
SIMD_INLINE Floats relu6_of(Floats x) {
  return select(x <= 0.0f, splat(0.0f), select(x > 6.0f, splat(6.0f), x));
}
SIMD_INLINE Floats sign_of(Floats x) {
  const Floats sign = select(x > 0.0f, splat(1.0f), select(x < 0.0f, splat(-1.0f), splat(0.0f)));
  return select(x != x, x, sign);
}

template <Floats (*kFunction)(Floats)>
void function_loop(const float* x, float* out, Index n) {
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) store(out + i, kFunction(load(x + i)));
  if (i == n) return;
  float rest[kWidth] = {};
  for (Index j = i; j < n; ++j) rest[j - i] = x[j];
  store(rest, kFunction(load(rest)));
  for (Index j = i; j < n; ++j) out[j] = rest[j - i];
}

// Functions for which every processor has instructions.
struct NegOf {
  static SIMD_INLINE float apply(float x) { return -x; }
};
struct SquareOf {
  static SIMD_INLINE float apply(float x) { return x * x; }
};
struct SqrtOf {
  static SIMD_INLINE float apply(float x) { return __builtin_sqrtf(x); }
};
struct RsqrtOf {
  static SIMD_INLINE float apply(float x) { return 1.0f / __builtin_sqrtf(x); }
};
struct FloorOf {
  static SIMD_INLINE float apply(float x) { return __builtin_floorf(x); }
};
struct CeilOf {
  static SIMD_INLINE float apply(float x) { return __builtin_ceilf(x); }
};
struct RoundOf {
  static SIMD_INLINE float apply(float x) { return __builtin_nearbyintf(x); }
};
template <class Op>
void unary_loop(const float* x, float* out, Index n) {
  SIMD_INDEPENDENT
  for (Index i = 0; i < n; ++i) out[i] = Op::apply(x[i]);
}

}  // namespace
}  // namespace towerflow::simd
