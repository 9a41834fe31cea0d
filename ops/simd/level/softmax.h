// Part of level.cc: exponential, logarithm and the softmax cross entropy.
#pragma once

#include "ops/simd/level/sums.h"
#include "ops/simd/level/vector.h"

namespace towerflow::simd {
namespace {

// 2^k for k in -126 .. 127.
SIMD_INLINE Floats power_of_two(Ints k) { return from_bits((k + 127) << 23); }

// Cody and Waite's reduction x = k ln 2 + r, then the polynomial of Cephes' expf on r. The power is
// applied in two halves, so that results below the normal range are rounded once.
SIMD_INLINE Floats exp_of(Floats x) {
  const Floats low = splat(-105.0f), high = splat(89.0f);
  x = select(x < low, low, x);  // NaN compares false and stays
  x = select(x > high, high, x);
  const float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const Floats shifted = x * 1.44269504088896341f + kMagic;
  const Floats k = shifted - kMagic;
  const Ints n = bits(shifted) - 0x4B400000;
  const Floats r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
  Floats p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const Floats y = p * (r * r) + r + 1.0f;
  const Ints half = n >> 1;
  return y * power_of_two(half) * power_of_two(n - half);
}

void exp_loop(const float* x, float* out, Index n) {
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) store(out + i, exp_of(load(x + i)));
  if (i == n) return;
  float rest[kWidth] = {};
  for (Index j = i; j < n; ++j) rest[j - i] = x[j];
  store(rest, exp_of(load(rest)));
  for (Index j = i; j < n; ++j) out[j] = rest[j - i];
}

// Natural logarithm of a number >= 1, infinity or NaN, in double: x = m 2^k with m around 1, and
// log m = 2 atanh((m - 1) / (m + 1)).
double log_of(double x) {
  if (!(x < 1e300)) return x;
  std::int64_t word;
  __builtin_memcpy(&word, &x, sizeof word);
  std::int64_t k = (word >> 52) - 1023;
  word = (word & 0xFFFFFFFFFFFFF) | (std::int64_t{1023} << 52);
  double m;
  __builtin_memcpy(&m, &word, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  const double t = (m - 1.0) / (m + 1.0);
  const double t2 = t * t;
  double series = 0.0;
  for (int i = 21; i >= 1; i -= 2) series = series * t2 + 1.0 / i;
  return static_cast<double>(k) * 0.69314718055994530942 + 2.0 * t * series;
}

// A NaN anywhere makes everything NaN, as in TensorFlow: it reaches the sum through exp.
SIMD_INLINE float row_max(const float* x, Index n) {
  float m = x[0];
  for (Index i = 1; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

void softmax_xent_row(const float* x, Index label, float* loss, float* gradient, Index classes) {
  constexpr Index kPiece = 64;
  const float m = row_max(x, classes);
  const float shifted_label = x[label] - m;
  float sum = 0.0f;
  float e[kPiece];
  const Index pieces = (classes + kPiece - 1) / kPiece;
  for (Index piece = 0; piece < pieces; ++piece) {
    const Index begin = piece * kPiece;
    const Index size = classes - begin < kPiece ? classes - begin : kPiece;
    for (Index i = 0; i < size; ++i) e[i] = x[begin + i] - m;
    exp_loop(e, e, size);
    sum += block_sum<false>(e, size);
    if (gradient != nullptr)
      __builtin_memcpy(gradient + begin, e, static_cast<unsigned long>(size) * sizeof(float));
  }
  if (loss != nullptr)
    *loss =
        static_cast<float>(log_of(static_cast<double>(sum)) - static_cast<double>(shifted_label));
  if (gradient == nullptr) return;
  for (Index i = 0; i < classes; ++i) gradient[i] /= sum;
  gradient[label] -= 1.0f;
}

void softmax_xent_loop(const float* logits, const std::int64_t* labels, float* loss, float* dlogits,
                       Index first, Index last, Index classes) {
  for (Index row = first; row < last; ++row)
    softmax_xent_row(logits + row * classes, labels[row], loss ? loss + row : nullptr,
                     dlogits ? dlogits + row * classes : nullptr, classes);
}

}  // namespace
}  // namespace towerflow::simd
