#pragma once

#include <bit>
#include <cstdint>

#include "core/graph/array.h"

namespace towerflow {

/// float16 and bfloat16 are ways of storing numbers: ops compute them in float32. An Array of such
/// numbers has their bits, as std::uint16_t.

inline bool is_short_float(DType dtype) noexcept {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

/// Returns the dtype in which numbers of `dtype` are computed.
inline DType widened(DType dtype) noexcept {
  return is_short_float(dtype) ? DType::float32 : dtype;
}

/// Converts from float16 (IEEE 754 binary16). Exact.
inline float float16_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, both normal in float32
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// Rounds to the nearest float16, ties to even; numbers from 65,520 on become infinite, NaN stays
/// NaN.
inline std::uint16_t float_to_float16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  const auto signed_ = [sign](std::uint32_t half) {
    return static_cast<std::uint16_t>(sign | half);
  };
  if (size > 0x7F800000U) return signed_(0x7E00U);
  if (size >= 0x477FF000U) return signed_(0x7C00U);
  // Numbers below 2^-14 become multiples of 2^-24. Adding 0.5, whose last bit counts 2^-24, rounds
  // to these.
  if (size < 0x38800000U) {
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return signed_(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t odd = size >> 13 & 1U;
  return signed_((size - ((127U - 15U) << 23) + 0xFFFU + odd) >> 13);
}

/// Converts from bfloat16, the upper half of a float. Exact.
inline float bfloat16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// Rounds to the nearest bfloat16, ties to even; NaN stays NaN.
inline std::uint16_t float_to_bfloat16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

/// Converts `n` numbers of a short dtype to float32, and back.
inline void widen(DType dtype, const std::uint16_t* from, float* to, std::int64_t n) noexcept {
  if (dtype == DType::float16) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = float16_to_float(from[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = bfloat16_to_float(from[i]);
  }
}
inline void narrow(DType dtype, const float* from, std::uint16_t* to, std::int64_t n) noexcept {
  if (dtype == DType::float16) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = float_to_float16(from[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = float_to_bfloat16(from[i]);
  }
}

/// Returns the float32 number with the fewest decimal digits that rounds to a short number: that
/// for 0.1 in float16, which is 0.0999755859375, is 0.1.
float with_fewest_digits(DType dtype, std::uint16_t bits);

/// Returns the numbers of a short Array in float32, and those of a float32 one in a short dtype.
Array widened(const Array& array);
Array narrowed(const Array& array, DType dtype);

}  // namespace towerflow
