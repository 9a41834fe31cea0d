// Part of only level.cc, which is compiled once for each instruction set: everything here has
// internal linkage, and no inline function of another header is called, because the linker would
// keep one compiled copy of it for all sets.
#pragma once

#include <cstdint>

#define SIMD_INLINE inline __attribute__((always_inline))
// Iterations are independent: an output is the same memory as an input or disjoint from it.
#if defined(__clang__)
#define SIMD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SIMD_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace towerflow::simd {
namespace {

using Index = std::int64_t;

#if defined(__AVX512F__)
constexpr Index kWidth = 16;
#elif defined(__AVX2__)
constexpr Index kWidth = 8;
#else
constexpr Index kWidth = 4;
#endif

constexpr Index kLanes = 16;  // of sums, whatever kWidth is
constexpr Index kParts = kLanes / kWidth;

typedef float Floats __attribute__((vector_size(kWidth * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kWidth * 4)));

SIMD_INLINE Floats load(const float* p) {
  Floats v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
SIMD_INLINE void store(float* p, Floats v) { __builtin_memcpy(p, &v, sizeof v); }
SIMD_INLINE Floats splat(float x) { return x - Floats{}; }  // keeps the sign of zero
SIMD_INLINE Ints bits(Floats v) {
  Ints i;
  __builtin_memcpy(&i, &v, sizeof i);
  return i;
}
SIMD_INLINE Floats from_bits(Ints i) {
  Floats v;
  __builtin_memcpy(&v, &i, sizeof v);
  return v;
}
SIMD_INLINE Floats select(Ints mask, Floats yes, Floats no) { return mask ? yes : no; }

SIMD_INLINE float relu_of(float x) { return x > 0.0f || x != x ? x : 0.0f; }
SIMD_INLINE Floats relu_of(Floats x) { return select((x > 0.0f) | (x != x), x, Floats{}); }

// Calls f(Number<0>{}), ..., f(Number<kCount - 1>{}): a loop that is unrolled before the compiler
// assigns registers. `f` is a SIMD_EACH.
template <int kNumber>
struct Number {
  static constexpr int value = kNumber;
};
#define SIMD_EACH(name) [&](auto name) __attribute__((always_inline))
template <int kCount, int kDone = 0, class F>
SIMD_INLINE void unroll(const F& f) {
  if constexpr (kDone < kCount) {
    f(Number<kDone>{});
    unroll<kCount, kDone + 1>(f);
  }
}

SIMD_INLINE void zero(float* out, Index n) {
  __builtin_memset(out, 0, static_cast<unsigned long>(n) * sizeof(float));
}

// The sixteen virtual lanes of a sum.
struct Lanes {
  Floats part[kParts];
};

// Adds the lanes pairwise: 0+8, 1+9, ..., then 0+4, ...
SIMD_INLINE float total(const Lanes& lanes) {
  float x[kLanes];
  for (Index i = 0; i < kParts; ++i) store(x + i * kWidth, lanes.part[i]);
  for (Index half = kLanes / 2; half > 0; half /= 2)
    for (Index i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

}  // namespace
}  // namespace towerflow::simd
