// Part of level.cc: inverse, hyperbolic and error functions, made of those in functions.h and of
// polynomials from Cephes and Eigen. All are correct for every input, as those are.
#pragma once

#include "ops/simd/level/functions.h"

namespace towerflow::simd {
namespace {

constexpr float kHalfPi = 1.57079632679489661923f;
constexpr float kLog2 = 0.69314718055994530942f;

SIMD_INLINE Floats sqrt_of(Floats x) {
  for (Index i = 0; i < kWidth; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

// asin(root) for root <= 1/2, where z is its square.
SIMD_INLINE Floats small_asin(Floats root, Floats z) {
  Floats p = splat(4.2163199048e-2f);
  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  p = p * z + 1.6666752422e-1f;
  return p * z * root + root;
}

// asin x = pi / 2 - 2 asin(sqrt((1 - x) / 2)) for x above 1/2.
SIMD_INLINE Floats asin_of(Floats x) {
  const Floats a = abs_of(x);
  const Ints large = a > 0.5f;
  const Floats z = select(large, 0.5f * (1.0f - a), a * a);
  const Floats y = small_asin(select(large, sqrt_of(z), a), z);
  return with_sign_of(x, select(large, kHalfPi - 2.0f * y, y));
}

SIMD_INLINE Floats acos_of(Floats x) {
  const Floats a = abs_of(x);
  const Ints large = a > 0.5f;
  const Floats z = select(large, 0.5f * (1.0f - a), a * a);
  const Floats y = small_asin(select(large, sqrt_of(z), a), z);
  const Floats near_one = 2.0f * y;
  const Floats outer = select(x < 0.0f, 2.0f * kHalfPi - near_one, near_one);
  return select(large, outer, kHalfPi - with_sign_of(x, y));
}

// Reduces the argument to at most tan(pi / 8) with atan a = pi / 2 + atan(-1 / a) and
// atan a = pi / 4 + atan((a - 1) / (a + 1)).
SIMD_INLINE Floats atan_of(Floats x) {
  const Floats a = abs_of(x);
  const Ints large = a > 2.414213562373095f, middle = a > 0.4142135623730950f;
  const Floats r = select(large, -1.0f / a, select(middle, (a - 1.0f) / (a + 1.0f), a));
  const Floats from =
      select(large, splat(kHalfPi), select(middle, splat(0.5f * kHalfPi), splat(0.0f)));
  const Floats z = r * r;
  Floats p = splat(8.05374449538e-2f);
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  p = p * z - 3.33329491539e-1f;
  return with_sign_of(x, from + (p * z * r + r));
}

// e^x / 2 without overflow before the result does.
SIMD_INLINE Floats half_exp_of(Floats x) {
  const Floats root = exp_of(0.5f * x);
  return (0.5f * root) * root;
}

// With e = e^x - 1: sinh x = (e + e / (e + 1)) / 2.
SIMD_INLINE Floats sinh_of(Floats x) {
  const Floats a = abs_of(x);
  const Floats e = expm1_of(clamped(a, 0.0f, 10.0f));
  return with_sign_of(x, select(a > 9.0f, half_exp_of(a), 0.5f * (e + e / (e + 1.0f))));
}

SIMD_INLINE Floats cosh_of(Floats x) {
  const Floats a = abs_of(x);
  const Floats e = exp_of(clamped(a, 0.0f, 10.0f));
  return select(a > 9.0f, half_exp_of(a), 0.5f * e + 0.5f / e);
}

// log(a + sqrt(a^2 + 1)); for large a, log(2 a).
SIMD_INLINE Floats asinh_of(Floats x) {
  const Floats a = abs_of(x);
  const Ints large = a > 1e9f;
  const Floats c = clamped(a, 0.0f, 1e9f), square = c * c;
  const Floats y = log1p_of(c + square / (1.0f + sqrt_of(square + 1.0f)));
  return with_sign_of(x, select(large, log_of(a) + kLog2, y));
}

// With t = x - 1: log(1 + t + sqrt(t (t + 2))), NaN for x below 1.
SIMD_INLINE Floats acosh_of(Floats x) {
  const Ints large = x > 1e9f;
  const Floats t = clamped(x, 0.0f, 1e9f) - 1.0f;
  const Floats y = log1p_of(t + sqrt_of(t * (t + 2.0f)));
  return select(x < 1.0f, splat(__builtin_nanf("")), select(large, log_of(x) + kLog2, y));
}

// log((1 + a) / (1 - a)) / 2
SIMD_INLINE Floats atanh_of(Floats x) {
  const Floats a = abs_of(x);
  return with_sign_of(x, 0.5f * log1p_of((a + a) / (1.0f - a)));
}

// Eigen's quotient of polynomials, which is 1 from 4 on.
SIMD_INLINE Floats erf_of(Floats x) {
  const Floats c = clamped(x, -4.0f, 4.0f), z = c * c;
  Floats p = splat(-2.72614225801306e-10f);
  p = p * z + 2.77068142495902e-8f;
  p = p * z - 2.10102402082508e-6f;
  p = p * z - 5.69250639462346e-5f;
  p = p * z - 7.34990630326855e-4f;
  p = p * z - 2.95459980854025e-3f;
  p = p * z - 1.60960333262415e-2f;
  Floats q = splat(-1.45660718464996e-5f);
  q = q * z - 2.13374055278905e-4f;
  q = q * z - 1.68282697438203e-3f;
  q = q * z - 7.37332916720468e-3f;
  q = q * z - 1.42647390514189e-2f;
  return c * (p / q);
}

// Cephes' erfcf: e^(-a^2) / a times a polynomial in 1 / a^2, and 1 - erf below 1. a^2 is the sum of
// an exact square and a small rest, whose exponential is a short series, so that rounding a^2 does
// not make the exponential less precise.
SIMD_INLINE Floats erfc_of(Floats x) {
  const Floats a = clamped(abs_of(x), 0.0f, 11.0f);
  const Floats head = from_bits(bits(a) & -4096);
  const Floats rest = (head - a) * (a + head);  // above -0.12
  Floats s = splat(8.3333338e-3f);
  s = s * rest + 4.1666668e-2f;
  s = s * rest + 1.6666667e-1f;
  s = s * rest + 0.5f;
  s = s * (rest * rest) + rest;
  const Floats e = exp_of(-(head * head)), inverse = 1.0f / a, z = inverse * inverse;
  const Ints near = a < 2.0f;
  Floats p = select(near, splat(2.326819970068386e-2f), splat(0.0f));
  const auto next = [&](float near_term, float far_term) __attribute__((always_inline)) {
    p = p * z + select(near, splat(near_term), splat(far_term));
  };
  next(-1.387039388740657e-1f, -1.047766399936249e+1f);
  next(3.687424674597105e-1f, 1.297719955372516e+1f);
  next(-5.824733027278666e-1f, -7.495518717768503f);
  next(6.210004621745983e-1f, 2.921019019210786f);
  next(-4.944515323274145e-1f, -1.015265279202700f);
  next(3.404879937665872e-1f, 4.218463358204948e-1f);
  next(-2.741127028184656e-1f, -2.820767439740514e-1f);
  next(5.638259427386472e-1f, 5.641895067754075e-1f);
  const Floats product = e * inverse;
  const Floats tail = (product * s + product) * p;
  const Floats square = x * x;
  Floats t = splat(7.853861353153693e-5f);
  t = t * square - 8.010193625184903e-4f;
  t = t * square + 5.188327685732524e-3f;
  t = t * square - 2.685381193529856e-2f;
  t = t * square + 1.128358514861418e-1f;
  t = t * square - 3.761262582423300e-1f;
  t = t * square + 1.128379165726710f;
  const Floats outer = select(x < 0.0f, 2.0f - tail, tail);
  return select(abs_of(x) < 1.0f, 1.0f - t * x, outer);
}

}  // namespace
}  // namespace towerflow::simd
