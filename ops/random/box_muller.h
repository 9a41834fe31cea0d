#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/device/host_device.h"
#include "ops/random/box_muller_double.h"

// Box and Muller's pairs of normals, and the logarithm, sine and cosine that they need.
//
// The elementary functions are our own. They use IEEE additions, multiplications and divisions in a
// fixed order, so that the numbers do not depend on the C library, the compiler, its optimisation
// level or the vector width (given -ffp-contract=off). Float results are computed in double and
// rounded once. The series are Taylor series, except for the sine and cosine of floats: those are
// the minimax polynomials of scripts/fit_sincos.py, of the same degrees as glibc's, so that nearly
// every rounding agrees with TensorFlow, which calls glibc.

namespace towerflow::random {

/// Returns a number in [0, 1) made of the low 23 bits of `x`.
TOWERFLOW_HOST_DEVICE inline float unit_float(std::uint32_t x) noexcept {
  return std::bit_cast<float>((x & 0x7fffffU) | 0x3f800000U) - 1.0F;
}

/// Returns a number in [0, 1) made of the low 20 bits of `high` and all of `low`.
TOWERFLOW_HOST_DEVICE inline double unit_double(std::uint32_t high, std::uint32_t low) noexcept {
  const std::uint64_t mantissa = (std::uint64_t{high & 0xfffffU} << 32) | low;
  return std::bit_cast<double>(mantissa | 0x3ff0000000000000U) - 1.0;
}

inline constexpr double kTwoPi = 0x1.921fb54442d18p+2;
/// Lower bound of the logarithm's argument, which keeps it away from 0; TensorFlow's value.
inline constexpr double kSmallestUniform = 1.0e-7;

/// Returns the natural logarithm of a positive normal float, within 0.501 ulp.
TOWERFLOW_HOST_DEVICE inline float log_float(float u) noexcept {
  // u = m * 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1).
  constexpr std::int32_t kSqrtHalf = 0x3f3504f3;
  const auto bits = std::bit_cast<std::int32_t>(u);
  const std::int32_t e = (bits - kSqrtHalf) >> 23;
  const double m = std::bit_cast<float>(bits - (e << 23));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  const double tail =
      z * (1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11)))));
  constexpr double kLog2 = 0x1.62e42fefa39efp-1;
  return static_cast<float>(e * kLog2 + 2.0 * (s + s * tail));
}

/// Computes sine and cosine of `x` in [0, 2 pi], within 0.57 ulp.
TOWERFLOW_HOST_DEVICE inline void sincos_float(float x, float& sine, float& cosine) noexcept {
  constexpr double kHalfPi = 0x1.921fb54442d18p+0;  // ends in zero bits: its multiples are exact
  constexpr double kHalfPiRest = 0x1.1a62633145c07p-54;
  const auto quadrant = static_cast<std::int32_t>(x * kTwoOverPi + 0.5);
  const double q = quadrant;
  const double r = (x - q * kHalfPi) - q * kHalfPiRest;
  const double z = r * r;
  const double s =
      r + r * z * (-0x1.555545995a5f5p-3 + z * (0x1.11076052307d3p-7 + z * -0x1.994eb3773c25cp-13));
  const double c =
      1.0 +
      z * (-0x1.ffffffd0c621dp-2 +
           z * (0x1.55553e1068f80p-5 + z * (-0x1.6c087e89a5c04p-10 + z * 0x1.9934302844086p-16)));
  const auto sine_bits = std::bit_cast<std::uint32_t>(static_cast<float>(s));
  const auto cosine_bits = std::bit_cast<std::uint32_t>(static_cast<float>(c));
  const auto turn = static_cast<std::uint32_t>(quadrant);
  const std::uint32_t swap = ((sine_bits ^ cosine_bits) & (0U - (turn & 1U)));
  sine = std::bit_cast<float>(sine_bits ^ swap ^ ((turn & 2U) << 30));
  cosine = std::bit_cast<float>(cosine_bits ^ swap ^ (((turn + 1U) & 2U) << 30));
}

/// Computes kPairs pairs of standard normals, each from one word of `x0` and one of `x1`. Each
/// stage has its own loop, so that compilers vectorise all of them.
template <int kPairs>
TOWERFLOW_HOST_DEVICE void box_muller(const std::uint32_t* x0, const std::uint32_t* x1,
                                      float* first, float* second) noexcept {
  float radius[kPairs];
  float angle[kPairs];
  for (int i = 0; i < kPairs; ++i)
    radius[i] = std::max(unit_float(x0[i]), static_cast<float>(kSmallestUniform));
  for (int i = 0; i < kPairs; ++i) radius[i] = -2.0F * log_float(radius[i]);
  for (int i = 0; i < kPairs; ++i) radius[i] = std::sqrt(radius[i]);
  for (int i = 0; i < kPairs; ++i) angle[i] = static_cast<float>(kTwoPi * unit_float(x1[i]));
  for (int i = 0; i < kPairs; ++i) sincos_float(angle[i], first[i], second[i]);
  for (int i = 0; i < kPairs; ++i) first[i] *= radius[i];
  for (int i = 0; i < kPairs; ++i) second[i] *= radius[i];
}

/// Computes one pair of standard normals from four words, each within about one ulp of the exact
/// value for these words.
void box_muller(const std::array<std::uint32_t, 4>& words, double& first, double& second) noexcept;

}  // namespace towerflow::random
