// Part of level.cc for instruction sets with fused multiply-add: small matrix products whose
// operands are in a near cache.
#pragma once

#include "ops/simd/level/vector.h"

#include <immintrin.h>

namespace towerflow::simd {
namespace {

// a * b + c with a single rounding.
SIMD_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_fmadd_ps(
      reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#else
  return reinterpret_cast<Floats>(_mm256_fmadd_ps(
      reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#endif
}

// Returns x in every element. Uses intrinsics because g++ 12 compiles anything else to sixteen
// steps.
SIMD_INLINE Floats broadcast_scalar(float x) {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(_mm512_set1_ps(x));
#else
  return reinterpret_cast<Floats>(_mm256_set1_ps(x));
#endif
}

// How many vectors of a row are summed at a time, and of how many rows: as many as the registers
// have room for.
constexpr int kMostVectors = kWidth == 16 ? 4 : 2;
template <int kVectors>
constexpr int kMostRows = kWidth == 16 ? (kVectors == 4 ? 6 : 12) : (kVectors == 2 ? 6 : 12);

template <int kRows, int kVectors>
struct Sums {
  Floats at[kRows][kVectors];

  // Adds a column of a, whose elements are `a_stride` apart, times a row of b.
  SIMD_INLINE void add_product(const float* a, Index a_stride, const float* b) {
    Floats row[kVectors];
    unroll<kVectors>(SIMD_EACH(v) { row[v.value] = load(b + v.value * kWidth); });
    unroll<kRows>(SIMD_EACH(r) {
      const Floats left = broadcast_scalar(a[r.value * a_stride]);
      unroll<kVectors>(SIMD_EACH(v) {
        at[r.value][v.value] = multiply_add(left, row[v.value], at[r.value][v.value]);
      });
    });
  }
  // Calls `f(sum, index of its first element)` for each vector.
  template <class F>
  SIMD_INLINE void for_each(Index row_stride, const F& f) {
    unroll<kRows>(SIMD_EACH(r) {
      unroll<kVectors>(
          SIMD_EACH(v) { f(at[r.value][v.value], r.value * row_stride + v.value * kWidth); });
    });
  }
};

// c [kRows, kVectors] = a [kRows, depth] b [depth, kVectors].
template <int kRows, int kVectors>
SIMD_INLINE void multiply_block(const float* a, Index a_stride, const float* b, Index depth,
                                float* c, Index columns) {
  Sums<kRows, kVectors> sums;
  sums.for_each(0, [](Floats& sum, Index) { sum = Floats{}; });
  for (Index k = 0; k < depth; ++k) sums.add_product(a + k, a_stride, b + k * columns);
  sums.for_each(columns, [c](Floats& sum, Index i) { store(c + i, sum); });
}

template <int kRows, int kVectors>
SIMD_INLINE void multiply_rows(const float* a, const float* b, float* c, Index rows, Index depth,
                               Index columns) {
  Index r = 0;
  for (; r + kRows <= rows; r += kRows)
    multiply_block<kRows, kVectors>(a + r * depth, depth, b, depth, c + r * columns, columns);
  if constexpr (kRows > 1) {
    multiply_rows<kRows / 2, kVectors>(a + r * depth, b, c + r * columns, rows - r, depth, columns);
  }
}

template <int kVectors>
SIMD_INLINE void multiply_columns(const float* a, const float* b, float* c, Index rows, Index depth,
                                  Index columns, Index done) {
  for (; done + kVectors * kWidth <= columns; done += kVectors * kWidth)
    multiply_rows<kMostRows<kVectors>, kVectors>(a, b + done, c + done, rows, depth, columns);
  if constexpr (kVectors > 1) multiply_columns<kVectors / 2>(a, b, c, rows, depth, columns, done);
}

// c [rows, columns] = a [rows, depth] b [depth, columns]; columns is a multiple of 16.
void multiply(const float* a, const float* b, float* c, Index rows, Index depth, Index columns) {
  multiply_columns<kMostVectors>(a, b, c, rows, depth, columns, 0);
}

// c [kRows, kVectors] += a^T b, a [depth, kRows], b [depth, kVectors].
template <int kRows, int kVectors>
SIMD_INLINE void add_transposed_block(const float* a, Index rows, const float* b, Index depth,
                                      float* c, Index columns) {
  Sums<kRows, kVectors> sums;
  sums.for_each(columns, [c](Floats& sum, Index i) { sum = load(c + i); });
  for (Index k = 0; k < depth; ++k) sums.add_product(a + k * rows, 1, b + k * columns);
  sums.for_each(columns, [c](Floats& sum, Index i) { store(c + i, sum); });
}

template <int kVectors>
SIMD_INLINE void add_transposed_columns(const float* a, const float* b, float* c, Index depth,
                                        Index rows, Index columns, Index done) {
  constexpr int kRows = kWidth == 16 && kVectors < 4 ? 8 : 4;
  for (; done + kVectors * kWidth <= columns; done += kVectors * kWidth)
    for (Index r = 0; r < rows; r += kRows)
      add_transposed_block<kRows, kVectors>(a + r, rows, b + done, depth, c + r * columns + done,
                                            columns);
  if constexpr (kVectors > 1)
    add_transposed_columns<kVectors / 2>(a, b, c, depth, rows, columns, done);
}

// c [rows, columns] += a^T b, a [depth, rows], b [depth, columns]; rows and columns are multiples
// of 16.
void add_transposed_product(const float* a, const float* b, float* c, Index depth, Index rows,
                            Index columns) {
  add_transposed_columns<kMostVectors>(a, b, c, depth, rows, columns, 0);
}

}  // namespace
}  // namespace towerflow::simd
