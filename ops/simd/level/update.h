// Part of level.cc: optimizer updates, which combine the towers' gradients in the same pass.
#pragma once

#include "ops/simd/level/vector.h"
#include "ops/simd/update_loops.h"

namespace towerflow::simd {
namespace {

// One gradient, unchanged.
struct OneGradient {
  const float* gradient;
  SIMD_INLINE float at(Index i) const { return gradient[i]; }
};

// A sum of few gradients, kept in registers. Weights and divisors of 1 change nothing.
template <int kTowers>
struct SumInRegisters {
  const float* gradients[kTowers];
  float weights[kTowers];
  float start, divisor;
  SIMD_INLINE explicit SumInRegisters(const GradientSum& sum)
      : start(sum.start), divisor(sum.divisor) {
    for (int tower = 0; tower < kTowers; ++tower) {
      gradients[tower] = sum.gradients[tower];
      weights[tower] = sum.weights != nullptr ? sum.weights[tower] : 1.0f;
    }
  }
  SIMD_INLINE float at(Index i) const {
    float sum = start;
    for (int tower = 0; tower < kTowers; ++tower) sum += gradients[tower][i] * weights[tower];
    return sum / divisor;
  }
};

// Computes elements from .. from + n - 1 of any sum.
void sum_piece(const GradientSum& sum, Index from, float* out, Index n) {
  for (int tower = 0; tower < sum.towers; ++tower) {
    const float* gradient = sum.gradients[tower] + from;
    const float weight = sum.weights != nullptr ? sum.weights[tower] : 1.0f;
    const float start = sum.start;
    if (tower == 0) {
      SIMD_INDEPENDENT
      for (Index i = 0; i < n; ++i) out[i] = start + gradient[i] * weight;
    } else {
      SIMD_INDEPENDENT
      for (Index i = 0; i < n; ++i) out[i] += gradient[i] * weight;
    }
  }
  if (sum.divisor == 1.0f) return;
  const float divisor = sum.divisor;
  SIMD_INDEPENDENT
  for (Index i = 0; i < n; ++i) out[i] /= divisor;
}

// Fits the L1 cache and is so short that the streams from memory keep running in parallel: with
// pieces of 1024 an update of large variables took a quarter longer.
constexpr Index kUpdatePiece = 256;

void gradient_sum_loop(const GradientSum& sum, float* out, Index n) {
  for (Index from = 0; from < n; from += kUpdatePiece) {
    float piece[kUpdatePiece];  // `out` may be a gradient that is still to be read
    const Index size = n - from < kUpdatePiece ? n - from : kUpdatePiece;
    sum_piece(sum, from, piece, size);
    __builtin_memcpy(out + from, piece, static_cast<unsigned long>(size) * sizeof(float));
  }
}

template <class Rule, class Gradient>
SIMD_INLINE void update_with(const Rule& given, float* const* written, const Gradient& gradient,
                             Index from, Index n) {
  if constexpr (requires { given.faster(); }) {
    if (given.has_faster()) return update_with(given.faster(), written, gradient, from, n);
  }
  const Rule rule = given;
  float* variable = written[0] + from;
  if constexpr (Rule::kSlots == 0) {
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) rule(variable[i], gradient.at(i));
  } else if constexpr (Rule::kSlots == 1) {
    float* first = written[1] + from;
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) rule(variable[i], first[i], gradient.at(i));
  } else if constexpr (Rule::kSlots == 2) {
    float *first = written[1] + from, *second = written[2] + from;
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) rule(variable[i], first[i], second[i], gradient.at(i));
  } else {
    static_assert(Rule::kSlots == 3);
    float *first = written[1] + from, *second = written[2] + from, *third = written[3] + from;
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) rule(variable[i], first[i], second[i], third[i], gradient.at(i));
  }
}

template <class Rule>
void update_loop(const Rule& rule, float* const* written, const GradientSum& sum, Index n) {
  switch (sum.towers) {
    case 1:
      // A start of -0, for which 1 / start is negative, leaves every gradient unchanged.
      if (sum.weights == nullptr && sum.divisor == 1.0f && 1.0f / sum.start < 0.0f)
        return update_with(rule, written, OneGradient{sum.gradients[0]}, 0, n);
      break;
    case 2:
      return update_with(rule, written, SumInRegisters<2>(sum), 0, n);
    case 3:
      return update_with(rule, written, SumInRegisters<3>(sum), 0, n);
    case 4:
      return update_with(rule, written, SumInRegisters<4>(sum), 0, n);
    default:
      break;
  }
  for (Index from = 0; from < n; from += kUpdatePiece) {
    float piece[kUpdatePiece];
    const Index size = n - from < kUpdatePiece ? n - from : kUpdatePiece;
    sum_piece(sum, from, piece, size);
    update_with(rule, written, OneGradient{piece}, from, size);
  }
}

}  // namespace
}  // namespace towerflow::simd
