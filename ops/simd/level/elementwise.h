// Part of level.cc: loops without interaction between elements.
#pragma once

#include "ops/simd/level/vector.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

struct AddOf {
  static SIMD_INLINE float apply(float a, float b) { return a + b; }
};
struct SubOf {
  static SIMD_INLINE float apply(float a, float b) { return a - b; }
};
struct MulOf {
  static SIMD_INLINE float apply(float a, float b) { return a * b; }
};
struct DivOf {
  static SIMD_INLINE float apply(float a, float b) { return a / b; }
};
struct MaximumOf {
  static SIMD_INLINE float apply(float a, float b) { return ((a > b) | (a != a)) ? a : b; }
};
struct MinimumOf {
  static SIMD_INLINE float apply(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
};
struct DivNoNanOf {
  static SIMD_INLINE float apply(float a, float b) { return b == 0.0f ? 0.0f : a / b; }
};
struct FloorDivOf {
  static SIMD_INLINE float apply(float a, float b) { return __builtin_floorf(a / b); }
};
struct TruncateDivOf {
  static SIMD_INLINE float apply(float a, float b) { return __builtin_truncf(a / b); }
};
struct XdivyOf {
  static SIMD_INLINE float apply(float a, float b) { return a == 0.0f ? 0.0f : a / b; }
};
struct ReluGradOf {
  static SIMD_INLINE float apply(float g, float x) { return g * (x > 0.0f ? 1.0f : 0.0f); }
};

// Functions of two numbers take whole registers: they have `kVector`, and apply() of Floats.
template <class Op, bool kOneLeft, bool kOneRight>
void vector_binary_loop(const float* a, const float* b, float* out, Index n) {
  if (n == 0) return;
  const Floats left = splat(*a), right = splat(*b);
  const auto part = [=](Index i) __attribute__((always_inline)) {
    return Op::apply(kOneLeft ? left : load(a + i), kOneRight ? right : load(b + i));
  };
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) store(out + i, part(i));
  if (i == n) return;
  float x[kWidth] = {}, y[kWidth] = {};
  for (Index j = i; j < n; ++j) x[j - i] = kOneLeft ? left[0] : a[j];
  for (Index j = i; j < n; ++j) y[j - i] = kOneRight ? right[0] : b[j];
  store(x, Op::apply(load(x), load(y)));
  for (Index j = i; j < n; ++j) out[j] = x[j - i];
}

template <class Op>
void binary_loop(const float* a, const float* b, float* out, Index n) {
  if constexpr (requires { Op::kVector; }) {
    vector_binary_loop<Op, false, false>(a, b, out, n);
  } else {
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i]);
  }
}
template <class Op>
void scalar_right_loop(const float* a, const float* b, float* out, Index n) {
  if constexpr (requires { Op::kVector; }) {
    vector_binary_loop<Op, false, true>(a, b, out, n);
  } else {
    const float y = *b;
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) out[i] = Op::apply(a[i], y);
  }
}
template <class Op>
void scalar_left_loop(const float* a, const float* b, float* out, Index n) {
  if constexpr (requires { Op::kVector; }) {
    vector_binary_loop<Op, true, false>(a, b, out, n);
  } else {
    const float x = *a;
    SIMD_INDEPENDENT
    for (Index i = 0; i < n; ++i) out[i] = Op::apply(x, b[i]);
  }
}

struct AddReluOf {
  static SIMD_INLINE float apply(float a, float b) {
    const float x = a + b;
    return ((x > 0.0f) | (x != x)) ? x : 0.0f;
  }
};

// Short rows, several at a time: the row is repeated in memory that stays in the first-level cache.
struct RepeatedRow {
  static constexpr Index kElements = 1024, kLongRow = 128;

  RepeatedRow(const float* row, Index rows, Index columns) : at(row), count(1) {
    if (columns >= kLongRow || rows * columns < 4 * kElements) return;
    count = kElements / columns;
    for (Index r = 0; r < count; ++r) {
      for (Index c = 0; c < columns; ++c) elements[r * columns + c] = row[c];
    }
    at = elements;
  }
  RepeatedRow(const RepeatedRow&) = delete;
  RepeatedRow& operator=(const RepeatedRow&) = delete;

  const float* at;
  Index count;  // rows
  float elements[kElements];
};

template <class Op>
void row_right_loop(const float* a, const float* b, float* out, Index rows, Index columns) {
  const RepeatedRow repeated(b, rows, columns);
  for (Index r = 0; r < rows; r += repeated.count) {
    const Index n = (rows - r < repeated.count ? rows - r : repeated.count) * columns;
    binary_loop<Op>(a + r * columns, repeated.at, out + r * columns, n);
  }
}
template <class Op>
void row_left_loop(const float* a, const float* b, float* out, Index rows, Index columns) {
  const RepeatedRow repeated(a, rows, columns);
  for (Index r = 0; r < rows; r += repeated.count) {
    const Index n = (rows - r < repeated.count ? rows - r : repeated.count) * columns;
    binary_loop<Op>(repeated.at, b + r * columns, out + r * columns, n);
  }
}

void relu_loop(const float* x, float* out, Index n) {
  SIMD_INDEPENDENT
  for (Index i = 0; i < n; ++i) out[i] = ((x[i] > 0.0f) | (x[i] != x[i])) ? x[i] : 0.0f;
}
void fill_loop(float value, float* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] = value;
}

// Does what the processor's truncating conversion does, spelled out because C++ leaves numbers
// outside the range undefined. `below` is the largest number that truncates to less than the lowest
// To.
template <class To, class From>
SIMD_INLINE To truncated(From x, From below, From beyond, To out_of_range) {
  const bool inside = (x > below) & (x < beyond);
  const To value = static_cast<To>(inside ? x : From(0));
  return inside ? value : out_of_range;
}

SIMD_INLINE std::int32_t to_i32(float x) {
  return truncated<std::int32_t>(x, -2147483904.0f, 2147483648.0f, INT32_MIN);
}
SIMD_INLINE std::int32_t to_i32(double x) {
  return truncated<std::int32_t>(x, -2147483649.0, 2147483648.0, INT32_MIN);
}
SIMD_INLINE std::int64_t to_i64(float x) {
  return truncated<std::int64_t>(x, -9223373136366403584.0f, 9223372036854775808.0f, INT64_MIN);
}
SIMD_INLINE std::int64_t to_i64(double x) {
  return truncated<std::int64_t>(x, -9223372036854777856.0, 9223372036854775808.0, INT64_MIN);
}

template <class T>
constexpr bool kFloating = false;
template <>
constexpr bool kFloating<float> = true;
template <>
constexpr bool kFloating<double> = true;

template <class From, class To>
SIMD_INLINE To cast_of(From x) {
  if constexpr (!kFloating<From> || kFloating<To>)
    return static_cast<To>(x);
  else if constexpr (sizeof(To) == 8)
    return to_i64(x);
  else
    return static_cast<To>(to_i32(x));
}

template <class From, class To>
void cast_loop(const void* in, void* out, Index n) {
  const From* x = static_cast<const From*>(in);
  To* y = static_cast<To*>(out);
  SIMD_INDEPENDENT
  for (Index i = 0; i < n; ++i) y[i] = cast_of<From, To>(x[i]);
}

typedef float Four __attribute__((vector_size(16)));

SIMD_INLINE void transpose_4x4(const float* in, Index in_stride, float* out, Index out_stride) {
  Four row[4];
  for (Index r = 0; r < 4; ++r) __builtin_memcpy(&row[r], in + r * in_stride, sizeof(Four));
  const Four low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
  const Four low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
  const Four high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Four high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Four column[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                          __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                          __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                          __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (Index c = 0; c < 4; ++c) __builtin_memcpy(out + c * out_stride, &column[c], sizeof(Four));
}

void transpose_loop(const float* in, Index in_stride, float* out, Index out_stride, Index rows,
                    Index columns) {
  constexpr Index kTile = 16;
  for (Index r0 = 0; r0 < rows; r0 += kTile)
    for (Index c0 = 0; c0 < columns; c0 += kTile) {
      const Index r1 = r0 + kTile < rows ? r0 + kTile : rows;
      const Index c1 = c0 + kTile < columns ? c0 + kTile : columns;
      Index c = c0;
      for (; c + 4 <= c1; c += 4) {
        Index r = r0;
        for (; r + 4 <= r1; r += 4)
          transpose_4x4(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
        for (; r < r1; ++r)
          for (Index k = c; k < c + 4; ++k) out[k * out_stride + r] = in[r * in_stride + k];
      }
      for (; c < c1; ++c)
        for (Index r = r0; r < r1; ++r) out[c * out_stride + r] = in[r * in_stride + c];
    }
}

}  // namespace
}  // namespace towerflow::simd
