// Part of level.cc: loops that choose one of several numbers.
#pragma once

#include "ops/simd/level/elementwise.h"

namespace towerflow::simd {
namespace {

SIMD_INLINE Floats choose(MaximumOf, Floats a, Floats b) {
  return select((a > b) | (a != a), a, b);
}
SIMD_INLINE Floats choose(MinimumOf, Floats a, Floats b) {
  return select((a < b) | (a != a), a, b);
}

// Element i goes to lane i % 16, and the lanes are joined pairwise. The order determines which of
// two zeros is found.
template <class Op>
float extreme_of(const float* x, Index n, float start) {
  Floats parts[kParts];
  for (Index p = 0; p < kParts; ++p) parts[p] = splat(start);
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (Index p = 0; p < kParts; ++p) parts[p] = choose(Op{}, parts[p], load(x + i + p * kWidth));
  float lanes[kLanes];
  for (Index p = 0; p < kParts; ++p) store(lanes + p * kWidth, parts[p]);
  for (Index lane = 0; i < n; ++i, ++lane) lanes[lane] = Op::apply(lanes[lane], x[i]);
  for (Index half = kLanes / 2; half > 0; half /= 2)
    for (Index lane = 0; lane < half; ++lane)
      lanes[lane] = Op::apply(lanes[lane], lanes[lane + half]);
  return lanes[0];
}

float max_loop(const float* x, Index n) { return extreme_of<MaximumOf>(x, n, -__builtin_inff()); }
float min_loop(const float* x, Index n) { return extreme_of<MinimumOf>(x, n, __builtin_inff()); }

typedef std::uint32_t Word __attribute__((may_alias));  // any type of four bytes

template <bool kOneX, bool kOneY>
void select_loop(const bool* condition, const void* x, const void* y, void* out, Index n) {
  if (n == 0) return;
  const Word *xs = static_cast<const Word*>(x), *ys = static_cast<const Word*>(y);
  Word* to = static_cast<Word*>(out);
  const Word one_x = *xs, one_y = *ys;
  SIMD_INDEPENDENT
  for (Index i = 0; i < n; ++i) {
    const Word a = kOneX ? one_x : xs[i], b = kOneY ? one_y : ys[i];
    // A mask, because a conditional would load only the chosen value, element by element.
    const Word mask = Word{0} - Word{condition[i]};
    to[i] = (a & mask) | (b & ~mask);
  }
}

}  // namespace
}  // namespace towerflow::simd
