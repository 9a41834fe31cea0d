// Part of level.cc: sine, cosine and tangent, computed in double.
#pragma once

#include "ops/simd/level/vector.h"

namespace towerflow::simd {
namespace {

constexpr Index kDoubles = kWidth / 2;
typedef float HalfFloats __attribute__((vector_size(kDoubles * 4)));
typedef double Doubles __attribute__((vector_size(kDoubles * 8)));
typedef std::int64_t Longs __attribute__((vector_size(kDoubles * 8)));

constexpr float kLargestAngle = 1e6f;  // up to here pi / 2 in two parts suffices; beyond, libm

constexpr int kTangent = -1;

// Returns sin(x + kTurns pi / 2), or tan(x) for kTangent: x = k pi / 2 + r, then the polynomials of
// FreeBSD's sinf and cosf in r.
template <int kTurns>
SIMD_INLINE HalfFloats sine_of(HalfFloats angle) {
  const Doubles x = __builtin_convertvector(angle, Doubles);
  const double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  const Doubles shifted = x * 0.63661977236758134308 + kMagic;
  const Doubles k = shifted - kMagic;
  Longs quarter;
  __builtin_memcpy(&quarter, &shifted, sizeof quarter);
  if constexpr (kTurns != kTangent) quarter += kTurns;
  // The first part of pi / 2 has 33 bits, so its product with k is exact.
  const Doubles r = (x - k * 1.57079632673412561417) - k * 6.07710050650619224932e-11;
  const Doubles z = r * r, w = z * z, s = z * r;
  const Doubles sine = (r + s * (-0.166666666416265235595 + z * 0.0083333293858894631756)) +
                       s * w * (-0.000198393348360966317347 + z * 0.0000027183114939898219064);
  const Doubles cosine = ((1.0 + z * -0.499999997251031003120) + w * 0.0416666233237390631894) +
                         (w * z) * (-0.00138867637746099294692 + z * 0.0000243904487962774090654);
  Doubles y = (quarter & 1) != 0 ? cosine : sine;
  if constexpr (kTurns == kTangent)
    y = (quarter & 1) != 0 ? -cosine / sine : sine / cosine;
  else
    y = (quarter & 2) != 0 ? -y : y;
  if constexpr (kTurns != 1) y = x == 0.0 ? x : y;  // keeps the sign of zero
  return __builtin_convertvector(y, HalfFloats);
}

template <int kTurns>
SIMD_INLINE void sines(const float* x, float* out) {
  HalfFloats v;
  __builtin_memcpy(&v, x, sizeof v);
  v = sine_of<kTurns>(v);
  __builtin_memcpy(out, &v, sizeof v);
}

template <int kTurns>
SIMD_INLINE void sine_piece(const float* x, float* out, Index n) {
  Index i = 0;
  for (; i + kDoubles <= n; i += kDoubles) sines<kTurns>(x + i, out + i);
  if (i == n) return;
  float rest[kDoubles] = {};
  for (Index j = i; j < n; ++j) rest[j - i] = x[j];
  sines<kTurns>(rest, rest);
  for (Index j = i; j < n; ++j) out[j] = rest[j - i];
}

template <int kTurns>
void sine_loop(const float* x, float* out, Index n) {
  constexpr Index kPiece = 256;
  float kept[kPiece];
  for (Index begin = 0; begin < n; begin += kPiece) {
    const Index size = n - begin < kPiece ? n - begin : kPiece;
    int large = 0;
    for (Index i = 0; i < size; ++i) large |= __builtin_fabsf(x[begin + i]) > kLargestAngle;
    if (large != 0)
      __builtin_memcpy(kept, x + begin, static_cast<unsigned long>(size) * sizeof(float));
    sine_piece<kTurns>(x + begin, out + begin, size);
    for (Index i = 0; large != 0 && i < size; ++i) {
      if (!(__builtin_fabsf(kept[i]) > kLargestAngle)) continue;
      const double angle = kept[i];
      if constexpr (kTurns == kTangent)
        out[begin + i] = static_cast<float>(__builtin_tan(angle));
      else
        out[begin + i] =
            static_cast<float>(kTurns == 0 ? __builtin_sin(angle) : __builtin_cos(angle));
    }
  }
}

}  // namespace
}  // namespace towerflow::simd
