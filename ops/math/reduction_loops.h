#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/math/binary_functors.h"
#include "ops/simd/loops.h"

/// Reductions of rows and columns in a fixed order. A row is reduced in sixteen lanes, in blocks of
/// 4096 elements (a single block for max and min of floats); columns are reduced by joining whole
/// rows one after another.
namespace towerflow::reductions {

template <class T>
struct Sum {
  static constexpr bool kIsSum = true;
  static T start() { return T(0); }
  static T join(T a, T b) { return functors::Add<T>()(a, b); }
};
/// The sum that accumulates a mean of elements of type T. Integers use 64 bits, since their own
/// type would wrap.
template <class T>
using MeanSum =
    Sum<std::conditional_t<std::is_floating_point_v<T>, T,
                           std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>>>;
template <class T>
struct Prod {
  static constexpr bool kIsSum = false;
  static T start() { return T(1); }
  static T join(T a, T b) { return functors::Mul<T>()(a, b); }
};
template <class T>
struct Max {
  static constexpr bool kIsSum = false;
  static T start() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  static T join(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T>
struct Min {
  static constexpr bool kIsSum = false;
  static T start() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  static T join(T a, T b) { return a < b || a != a ? a : b; }
};
template <class T>
struct All {
  static constexpr bool kIsSum = false;
  static T start() { return true; }
  static T join(T a, T b) { return a & b; }
};
template <class T>
struct Any {
  static constexpr bool kIsSum = false;
  static T start() { return false; }
  static T join(T a, T b) { return a | b; }
};

template <class T, class R>
constexpr bool kFloatSum = std::is_same_v<T, float>&& R::kIsSum;

/// The index of the SIMD loop that joins floats as R does; -1 if there is none.
template <class T, class R>
constexpr int kFloatJoin = -1;
template <>
inline constexpr int kFloatJoin<float, Sum<float>> = static_cast<int>(simd::Binary::add);
template <>
inline constexpr int kFloatJoin<float, Max<float>> = static_cast<int>(simd::Binary::maximum);
template <>
inline constexpr int kFloatJoin<float, Min<float>> = static_cast<int>(simd::Binary::minimum);

/// The result type of R.
template <class R>
using Result = decltype(R::start());

/// Returns the reduction of x[0 .. n).
template <class T, class R>
Result<R> reduce_row(const T* x, std::int64_t n) {
  if constexpr (kFloatSum<T, R>) return simd::loops().sum(x, n);
  if constexpr (std::is_same_v<R, Max<float>>) return simd::loops().max(x, n);
  if constexpr (std::is_same_v<R, Min<float>>) return simd::loops().min(x, n);
  constexpr std::int64_t kLanes = 16;
  constexpr std::int64_t kBlock = 4096;
  Result<R> total = R::start();
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    Result<R> lanes[kLanes];
    std::fill_n(lanes, kLanes, R::start());
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = R::join(lanes[lane], x[i + lane]);
      }
    }
    for (std::int64_t lane = 0; i < end; ++i, ++lane) lanes[lane] = R::join(lanes[lane], x[i]);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t lane = 0; lane < half; ++lane) {
        lanes[lane] = R::join(lanes[lane], lanes[lane + half]);
      }
    }
    total = R::join(total, lanes[0]);
  }
  return total;
}

/// Computes out[j] = out[j] joined with row[j].
template <class T, class R>
void join_rows(Result<R>* out, const T* row, std::int64_t columns) {
  if constexpr (kFloatJoin<T, R> >= 0) {
    simd::loops().binary[kFloatJoin<T, R>](out, row, out, columns);
  } else {
    for (std::int64_t j = 0; j < columns; ++j) out[j] = R::join(out[j], row[j]);
  }
}

/// Computes out[j] = the reduction of x[r * stride + j] over r in 0 .. rows-1. `scratch` holds
/// `columns` elements.
template <class T, class R>
void reduce_columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                    Result<R>* out, Result<R>* scratch) {
  if constexpr (kFloatSum<T, R>) {
    simd::ColumnSums sums{out, scratch, 0};
    simd::loops().column_sums_begin(&sums, columns);
    simd::loops().column_sums_add(&sums, x, rows, stride, columns);
    simd::loops().column_sums_end(&sums, columns);
    return;
  }
  std::fill_n(out, columns, R::start());
  for (std::int64_t r = 0; r < rows; ++r) {
    join_rows<T, R>(out, x + r * stride, columns);
  }
}

}  // namespace towerflow::reductions
