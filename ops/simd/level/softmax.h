// Part of level.cc: the softmax and its cross entropy.
#pragma once

#include "ops/simd/level/functions.h"
#include "ops/simd/level/sums.h"
#include "ops/simd/level/vector.h"

namespace towerflow::simd {
namespace {

// Returns the natural logarithm of a number >= 1, infinity or NaN, in double: x = m 2^k with m
// around 1, and log m = 2 atanh((m - 1) / (m + 1)).
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

// A NaN that this misses still makes the whole row NaN, as in TensorFlow: it reaches the sum
// through exp.
SIMD_INLINE float row_max(const float* x, Index n) {
  float m = x[0];
  Index i = 1;
  if (n >= kWidth) {
    Floats lanes = load(x);
    for (i = kWidth; i + kWidth <= n; i += kWidth) {
      const Floats v = load(x + i);
      lanes = select(v > lanes, v, lanes);
    }
    float rest[kWidth];
    store(rest, lanes);
    for (Index half = kWidth / 2; half > 0; half /= 2)
      for (Index j = 0; j < half; ++j)
        rest[j] = rest[j + half] > rest[j] ? rest[j + half] : rest[j];
    m = rest[0];
  }
  for (; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

// The numbers from `first` on of a vector of 16 lanes, and 0 in the lanes before.
SIMD_INLINE Floats from_lane(Index first, Index part, Floats v) {
  alignas(64) static constexpr float kNumbers[kLanes] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                         8, 9, 10, 11, 12, 13, 14, 15};
  return select(load(kNumbers + part * kWidth) >= splat(static_cast<float>(first)), v, Floats{});
}

// Returns the sum of exp(x[i] - m) in 16 lanes; with `kStore`, out[i] is each of them. The last 16
// numbers are read at once, so that those after the last whole 16 need no loop of their own. They
// are read first, since out may be x.
template <bool kStore>
SIMD_INLINE float exp_sum(const float* x, float m, float* out, Index n) {
  const Floats shift = splat(m);
  const Index whole = n / kLanes * kLanes;
  float few[kLanes];
  const float* end = x + n - kLanes;
  if (whole == 0) {
    for (Index j = 0; j < kLanes; ++j) few[j] = j < kLanes - n ? m : x[j - (kLanes - n)];
    end = few;
  }
  Lanes last{}, lanes{};
  if (whole < n)
    for (Index p = 0; p < kParts; ++p) last.part[p] = exp_of(load(end + p * kWidth) - shift);
  for (Index i = 0; i < whole; i += kLanes)
    for (Index p = 0; p < kParts; ++p) {
      const Floats e = exp_of(load(x + i + p * kWidth) - shift);
      if (kStore) store(out + i + p * kWidth, e);
      lanes.part[p] += e;
    }
  if (whole < n)
    for (Index p = 0; p < kParts; ++p) {
      lanes.part[p] += from_lane(kLanes - (n - whole), p, last.part[p]);
      if (kStore && whole > 0) store(out + n - kLanes + p * kWidth, last.part[p]);
      if (kStore && whole == 0) store(few + p * kWidth, last.part[p]);
    }
  if (kStore && whole == 0)
    for (Index j = 0; j < n; ++j) out[j] = few[kLanes - n + j];
  return total(lanes);
}

template <bool kLogarithm>
void softmax_row(const float* x, float* y, Index classes) {
  const float m = row_max(x, classes);
  float sum = 0.0f;
  for (Index i = 0; i < classes; i += kBlock)
    sum += exp_sum<!kLogarithm>(x + i, m, y + i, classes - i < kBlock ? classes - i : kBlock);
  if (kLogarithm) {
    const float log_sum = static_cast<float>(log_of(static_cast<double>(sum)));
    SIMD_INDEPENDENT
    for (Index i = 0; i < classes; ++i) y[i] = x[i] - m - log_sum;
  } else {
    const float scale = 1.0f / sum;
    for (Index i = 0; i < classes; ++i) y[i] *= scale;
  }
}

template <void (*kRow)(const float*, float*, Index)>
void rows_loop(const float* x, float* y, Index rows, Index classes) {
  for (Index row = 0; row < rows; ++row) kRow(x + row * classes, y + row * classes, classes);
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
    function_loop<exp_of>(e, e, size);
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
