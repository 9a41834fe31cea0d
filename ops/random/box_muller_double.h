#pragma once

#include <bit>
#include <cstdint>

#include "core/device/host_device.h"

// The logarithm, sine and cosine that normals of float64 are made of; see box_muller.h.

namespace towerflow::random {

inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

/// Arithmetic with more bits than a double has.
namespace pairs {

/// An unevaluated sum of two doubles, with about 106 bits.
struct Pair {
  double high;
  double low;
};

/// Returns a + b exactly, for |a| >= |b| or a == 0.
TOWERFLOW_HOST_DEVICE inline Pair ordered_sum(double a, double b) noexcept {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// Returns a + b exactly (Knuth).
TOWERFLOW_HOST_DEVICE inline Pair exact_sum(double a, double b) noexcept {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// Returns a * b exactly (Dekker); std::fma would be a slow library call on processors without it.
TOWERFLOW_HOST_DEVICE inline Pair exact_product(double a, double b) noexcept {
  constexpr double kSplit = 0x1p27 + 1;
  const double ta = kSplit * a;
  const double tb = kSplit * b;
  const double ah = ta - (ta - a);
  const double bh = tb - (tb - b);
  const double al = a - ah;
  const double bl = b - bh;
  const double product = a * b;
  return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

TOWERFLOW_HOST_DEVICE inline Pair product(Pair a, Pair b) noexcept {
  const Pair p = exact_product(a.high, b.high);
  return ordered_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

/// Returns c[0] + z c[1] + z^2 c[2] + ...
template <int kTerms>
TOWERFLOW_HOST_DEVICE inline double polynomial(double z, const double (&c)[kTerms]) noexcept {
  double sum = c[kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) sum = c[i] + z * sum;
  return sum;
}

/// Returns the sine of r = r.high + r.low, for |r| <= pi / 4 and z = r^2.
TOWERFLOW_HOST_DEVICE inline double sine_near_zero(Pair r, Pair z) noexcept {
  // 1/5!, -1/7!, ...; denominators up to 18! are exact.
  constexpr double kSine[] = {
      1.0 / 120,        -1.0 / 5040,          1.0 / 362880,         -1.0 / 39916800,
      1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  constexpr Pair kSixth{-1.0 / 6, -0x1.5555555555555p-57};
  const Pair head = exact_sum(kSixth.high, z.high * polynomial(z.high, kSine));
  const Pair rest = product(r, product(z, {head.high, head.low + kSixth.low}));
  const Pair sum = ordered_sum(r.high, rest.high);
  return sum.high + (sum.low + (r.low + rest.low));
}

TOWERFLOW_HOST_DEVICE inline double cosine_near_zero(Pair z) noexcept {
  // 1/4!, -1/6!, ...
  constexpr double kCosine[] = {
      1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
  const Pair sum = ordered_sum(1.0, -0.5 * z.high);
  return sum.high + (sum.low + (z.high * z.high * polynomial(z.high, kCosine) - 0.5 * z.low));
}

}  // namespace pairs

/// Returns the natural logarithm of a positive normal double, within 0.53 ulp.
TOWERFLOW_HOST_DEVICE inline double log_double(double u) noexcept {
  using namespace pairs;  // NOLINT
  // (atanh(s) - s) / s^3 as a polynomial in s^2.
  constexpr double kAtanh[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                               1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  // Like log_float, with the leading terms carried in pairs.
  constexpr std::int64_t kSqrtHalf = 0x3fe6a09e667f3bcc;
  const auto bits = std::bit_cast<std::int64_t>(u);
  const std::int64_t exponent = (bits - kSqrtHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (exponent << 52));
  const double above = m - 1.0;
  const Pair below = exact_sum(m, 1.0);
  const double s = above / below.high;
  const Pair back = exact_product(s, below.high);
  const double s_low = (((above - back.high) - back.low) - s * below.low) / below.high;
  const double z = s * s;
  const Pair half = ordered_sum(s, s * z * polynomial(z, kAtanh));
  constexpr double kLog2 = 0x1.62e42fefa38p-1;  // ends in zero bits: its multiples are exact
  constexpr double kLog2Rest = 0x1.ef35793c7673p-45;
  const auto e = static_cast<double>(exponent);
  const Pair sum = exact_sum(e * kLog2, 2.0 * half.high);
  return sum.high + (sum.low + (2.0 * (half.low + s_low) + e * kLog2Rest));
}

/// Computes sine and cosine of `x` in [0, 2 pi], within 0.55 ulp.
TOWERFLOW_HOST_DEVICE inline void sincos_double(double x, double& sine, double& cosine) noexcept {
  using namespace pairs;  // NOLINT
  // pi / 2 in pieces whose multiples up to 4 are exact, so that r keeps all its bits.
  constexpr double kPiece0 = 0x1.921fb544p+0;
  constexpr double kPiece1 = 0x1.0b4611a6p-34;
  constexpr double kPiece2 = 0x1.3198a2e037073p-69;
  const auto quadrant = static_cast<std::int32_t>(x * kTwoOverPi + 0.5);
  const double q = quadrant;
  const Pair reduced = exact_sum(x - q * kPiece0, -(q * kPiece1));
  const Pair r = ordered_sum(reduced.high, reduced.low - q * kPiece2);
  const Pair z = product(r, r);
  const double s = sine_near_zero(r, z);
  const double c = cosine_near_zero(z);
  const bool swap = (quadrant & 1) != 0;
  sine = swap ? c : s;
  cosine = swap ? s : c;
  if ((quadrant & 2) != 0) sine = -sine;
  if (((quadrant + 1) & 2) != 0) cosine = -cosine;
}

}  // namespace towerflow::random
