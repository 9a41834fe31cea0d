#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "ops/simd/loops.h"
#include "tests/core/device/cpu/kernel_harness.h"

namespace towerflow::testing {

/// Returns the levels that this processor supports; there is at least one.
inline std::vector<const simd::Loops*> all_levels() {
  std::vector<const simd::Loops*> found;
  for (const simd::Level level :
       {simd::Level::generic, simd::Level::v2, simd::Level::v3, simd::Level::v4})
    if (const simd::Loops* loops = simd::loops_of(level)) found.push_back(loops);
  return found;
}

/// Returns random numbers mixed with NaN, infinities, both zeros and denormals.
inline std::vector<float> special_floats(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<float>;
  const float special[] = {Limits::quiet_NaN(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           0.0f,
                           -0.0f,
                           Limits::denorm_min(),
                           Limits::lowest(),
                           1.0f};
  std::vector<float> values = random_floats(count, seed);
  for (std::size_t i = seed % 5; i < count; i += 5) values[i] = special[(i / 5 + seed) % 8];
  return values;
}

/// Returns whether bits are equal, except that any NaN equals any other (processors choose the
/// payload and sign).
inline bool same_numbers(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::isnan(a[i]) && std::isnan(b[i])) && std::memcmp(&a[i], &b[i], sizeof(float)) != 0)
      return false;
  return true;
}

/// Runs `loop(loops, out)` on every level with a guarded output of `count` floats, checks that all
/// give the same numbers, and returns them.
template <class Loop>
std::vector<float> run_on_all_levels(std::size_t count, Loop loop) {
  std::vector<float> first;
  for (const simd::Loops* loops : all_levels()) {
    GuardedMemory out(count * sizeof(float), 4);
    std::memset(out.data(), 0xFF, out.bytes());
    loop(*loops, reinterpret_cast<float*>(out.data()));
    CHECK(out.intact());
    std::vector<float> result(count);
    if (count > 0) std::memcpy(result.data(), out.data(), out.bytes());
    if (loops == all_levels().front()) first = result;
    CAPTURE(simd::level_name(loops->level));
    CHECK(same_numbers(result, first));
  }
  return first;
}

inline const std::size_t kCounts[] = {0, 1, 3, 4, 7, 15, 16, 17, 31, 64, 1000, 5003};

}  // namespace towerflow::testing
