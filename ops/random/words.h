#pragma once

#include <bit>
#include <cstdint>

#include "ops/random/philox.h"

namespace towerflow::random {

/// Returns a number of [0, 1) in steps of 2^-52, made of the next two words.
inline double next_double(PhiloxWords& words) noexcept {
  const std::uint64_t high = words() & 0xFFFFF;
  const std::uint64_t mantissa = (high << 32) | words();
  return std::bit_cast<double>((std::uint64_t{1023} << 52) | mantissa) - 1.0;
}

/// Returns the next two words as one number, the first as its lower half.
inline std::uint64_t next_uint64(PhiloxWords& words) noexcept {
  const std::uint64_t low = words();
  return low | (std::uint64_t{words()} << 32);
}

/// Returns a number of [0, n) without bias: draws again what lies in an incomplete range.
inline std::uint64_t next_below(PhiloxWords& words, std::uint64_t n) noexcept {
  if ((n & (n - 1)) == 0) return next_uint64(words) & (n - 1);
  const std::uint64_t rest = UINT64_MAX % n + 1;
  std::uint64_t drawn;
  do {
    drawn = next_uint64(words);
  } while (drawn < rest);
  return drawn % n;
}

}  // namespace towerflow::random
