#pragma once

#include <cstdint>

#include "ops/simd/normalization_loops.h"
#include "ops/simd/update_loops.h"
#include "ops/simd/winograd_loops.h"
#include "ops/window.h"

/// The project's own inner loops over raw memory, built for several instruction sets.
///
/// All sets give the same bits: elementwise loops are plain IEEE operations without contraction,
/// and sums use a fixed number of virtual lanes and fixed blocks, whatever the register width.
/// Counts are in elements. Unless stated otherwise, an output is either disjoint from an input or
/// exactly the same memory.
namespace towerflow::simd {

/// x86-64 microarchitecture levels; `generic` is for other processors.
enum class Level : std::uint8_t { generic, v2, v3, v4 };

/// a[n] op b[n]. A scalar operand is b[0] or a[0].
using BinaryLoop = void (*)(const float* a, const float* b, float* out, std::int64_t n);
using UnaryLoop = void (*)(const float* x, float* out, std::int64_t n);

/// The same for each row, with one row as an operand: [rows, columns] op [columns], or the row
/// first.
using RowLoop = void (*)(const float* a, const float* b, float* out, std::int64_t rows,
                         std::int64_t columns);

/// maximum and minimum give NaN if either side is NaN, and b if both are equal; div_no_nan gives 0
/// if b is 0. xdivy, xlogy and xlog1py are a / b, a log(b) and a log(1 + b), and 0 if a is 0. atan2
/// is the angle of the point (b, a).
enum class Binary : std::uint8_t {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  div_no_nan,
  floor_div,
  truncate_div,
  xdivy,
  xlogy,
  xlog1py,
  atan2
};
inline constexpr int kBinaries = 13;

/// condition[n] ? x[n] : y[n], of any type of four bytes.
using SelectLoop = void (*)(const bool* condition, const void* x, const void* y, void* out,
                            std::int64_t n);

/// The element types of casts.
enum class Element : std::uint8_t { u8, i32, i64, f32, f64 };
inline constexpr int kElements = 5;
/// Numbers outside the range of i32 or i64, and NaN, become its lowest value; u8 takes the lowest 8
/// bits of the i32. Integers wrap around. Never in place.
using CastLoop = void (*)(const void* in, void* out, std::int64_t n);

/// The images of a pooling that a call processes: first .. first + count - 1.
struct ImageRange {
  std::int64_t first, count;
};

/// Column sums in progress. Rows are added one after another in blocks of 128 and each block's sum
/// to the total, so the bits do not depend on how the rows are divided among calls.
struct ColumnSums {
  float* total;             ///< [columns]
  float* block;             ///< [columns], scratch
  std::int64_t block_rows;  ///< rows in `block`
};

struct Loops {
  Level level;

  BinaryLoop binary[kBinaries];               ///< [op], both of size n
  BinaryLoop binary_scalar_right[kBinaries];  ///< [op], b is one number
  BinaryLoop binary_scalar_left[kBinaries];   ///< [op], a is one number
  RowLoop binary_row_right[kBinaries];        ///< [op], b is one row; add is a bias
  RowLoop binary_row_left[kBinaries];         ///< [op], a is one row
  RowLoop add_row_relu;                       ///< relu(a + b), b is one row
  UnaryLoop relu;                             ///< x > 0 ? x : 0; NaN stays NaN
  UnaryLoop neg, abs, square, sqrt, rsqrt, sign, floor, ceil, round, relu6;
  /// Within 2.5 ulp of the exact result, even if that is denormal. tests/ops/simd/functions_test.cc
  /// has a bound for each.
  UnaryLoop exp, expm1, log, log1p, sigmoid, tanh, softplus, elu, selu, sin, cos;
  /// Likewise, within 5 ulp, erfc within 13.
  UnaryLoop tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, erf, erfc;
  BinaryLoop relu_grad;                 ///< a * (b > 0 ? 1 : 0): gradient, feature
  CastLoop cast[kElements][kElements];  ///< [from][to]
  void (*fill)(float value, float* out, std::int64_t n);

  /// out = (((a0 + a1) + a2) + ...) over `arrays` arrays, then divided by `divisor`, unless that is
  /// 1. `out` may be one of the arrays.
  void (*sum_arrays)(const float* const* in, int arrays, float divisor, float* out, std::int64_t n);
  /// Sum, and sum of squares, of x in 16 lanes and blocks of 4096 elements.
  float (*sum)(const float* x, std::int64_t n);
  float (*sum_squares)(const float* x, std::int64_t n);

  /// Maximum and minimum of x in 16 lanes, joined like Binary::maximum and minimum; -infinity and
  /// infinity if n is 0.
  float (*max)(const float* x, std::int64_t n);
  float (*min)(const float* x, std::int64_t n);

  /// out[i] = ((x[i] + x[i + 1]) + ...) over `window` numbers; x has n + window - 1 of them.
  void (*window_sums)(const float* x, std::int64_t window, float* out, std::int64_t n);

  SelectLoop select, select_one_left, select_one_right;  ///< the others: x, or y, is one number

  void (*column_sums_begin)(ColumnSums* sums, std::int64_t columns);
  /// Row r begins at x + r * stride.
  void (*column_sums_add)(ColumnSums* sums, const float* x, std::int64_t rows, std::int64_t stride,
                          std::int64_t columns);
  void (*column_sums_end)(ColumnSums* sums, std::int64_t columns);

  /// y = max_pool(x), over the part of each window inside the image. Starts from the lowest finite
  /// number, so NaN never wins (as in TensorFlow). `after_relu` pools relu(x), bitwise as in two
  /// steps. x and y point to image 0.
  void (*max_pool)(const PoolGeometry& g, ImageRange images, bool after_relu, const float* x,
                   float* y);
  /// dx = gradient of max_pool: dy goes to the first largest element of its window; a NaN that
  /// comes first keeps its place (as in TensorFlow). Overlapping windows add in row-major order.
  /// `after_relu`: x is the input of the relu and dx its gradient. If `sums` is given, the rows of
  /// dx, [images x height x width, channels], are added to it in order. dx may be x if
  /// `is_disjoint_2x2(g)`.
  void (*max_pool_grad)(const PoolGeometry& g, ImageRange images, bool after_relu, const float* x,
                        const float* dy, float* dx, ColumnSums* sums);

  /// Optimizer updates, which combine the towers' gradients in the same pass.
  UpdateLoops update;
  GradientSumLoop gradient_sum;

  NormalizationLoops normalization;

  WinogradLoops winograd;

  /// y[i,j] = exp(x[i,j] - max) / sum_j exp(x[i,j] - max), and its logarithm; classes are at
  /// least 1. A row with a NaN becomes NaN.
  void (*softmax)(const float* x, float* y, std::int64_t rows, std::int64_t classes);
  void (*log_softmax)(const float* x, float* y, std::int64_t rows, std::int64_t classes);

  /// loss[i] = log(sum_j exp(logits[i,j] - max)) - (logits[i,label] - max), and
  /// dlogits[i,j] = softmax(logits)[i,j] - (j == label). Rows `first` .. `last` - 1; labels must
  /// be in 0 .. classes - 1. `loss` or `dlogits` may be null; dlogits may be the logits.
  void (*softmax_xent)(const float* logits, const std::int64_t* labels, float* loss, float* dlogits,
                       std::int64_t first, std::int64_t last, std::int64_t classes);

  /// out[c, r] = in[r, c]. Rows of `in` are `in_stride` apart, rows of `out` `out_stride`. Never in
  /// place.
  void (*transpose)(const float* in, std::int64_t in_stride, float* out, std::int64_t out_stride,
                    std::int64_t rows, std::int64_t columns);
};

/// Returns whether the windows of `g` are 2 x 2 and cover the image without overlap or border, and
/// the channels are a multiple of 16 ("quads"). Then a pooling gradient writes every element once.
bool is_disjoint_2x2(const PoolGeometry& g);

/// Returns the loops for this processor, chosen at the first call.
const Loops& loops();

/// Returns the loops of one level, or null if the processor or the build lacks it; for tests and
/// records.
const Loops* loops_of(Level level);

/// Makes `loops()` return another level, for tests. Returns false, without a change, if it is
/// missing.
bool use_level(Level level);

/// Returns the level's name, such as "x86-64-v4", for the record of a run.
const char* level_name(Level level);

}  // namespace towerflow::simd
