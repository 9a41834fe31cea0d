#pragma once

#include <cstdint>

#include "ops/simd/update_loops.h"
#include "ops/simd/winograd_loops.h"
#include "ops/window.h"

/// The project's own inner loops over raw memory, built for several instruction sets.
///
/// All sets give the same bits: elementwise loops are plain IEEE operations without contraction,
/// and sums run in a fixed number of virtual lanes and fixed blocks, whatever the width of the
/// registers. Counts are in elements. Unless said otherwise an output is either disjoint from an
/// input or exactly the same memory.
namespace towerflow::simd {

/// x86-64 micro-architecture levels; `generic` is what other processors get.
enum class Level : std::uint8_t { generic, v2, v3, v4 };

/// a[n] op b[n]; with `scalar` operands b[0], or a[0].
using BinaryLoop = void (*)(const float* a, const float* b, float* out, std::int64_t n);
using UnaryLoop = void (*)(const float* x, float* out, std::int64_t n);

/// The same with a row for every row: [rows, columns] op [columns], or the row first.
using RowLoop = void (*)(const float* a, const float* b, float* out, std::int64_t rows,
                         std::int64_t columns);

/// maximum and minimum give NaN where either side is NaN, and b where both are equal; div_no_nan
/// gives 0 where b is 0.
enum class Binary : std::uint8_t { add, sub, mul, div, maximum, minimum, div_no_nan, floor_div };
inline constexpr int kBinaries = 8;

/// condition[n] ? x[n] : y[n], of any type of four bytes.
using SelectLoop = void (*)(const bool* condition, const void* x, const void* y, void* out,
                            std::int64_t n);

/// Types that casts go between.
enum class Element : std::uint8_t { u8, i32, i64, f32, f64 };
inline constexpr int kElements = 5;
/// Numbers outside the range of an integer type, and NaN, become its lowest value for i32 and i64;
/// u8 takes the lowest 8 bits of the i32. Integers wrap. Never in place.
using CastLoop = void (*)(const void* in, void* out, std::int64_t n);

/// A part of a pooling: images first .. first + count - 1.
struct ImageRange {
  std::int64_t first, count;
};

/// Column sums in progress: rows are added one after another in blocks of 128, and the sum of a
/// block to the total, so that adding the same rows in any number of calls gives the same bits.
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
  UnaryLoop relu;                             ///< x > 0 ? x : 0; NaN stays
  UnaryLoop neg, abs, square, sqrt, rsqrt, sign, floor, ceil, round, relu6;
  /// Within 2.5 units in the last place of the real result, also where that is a denormal number:
  /// tests/ops/simd/functions_test.cc has a bound for each.
  UnaryLoop exp, expm1, log, log1p, sigmoid, tanh, softplus, elu, selu, sin, cos;
  BinaryLoop relu_grad;                 ///< a * (b > 0 ? 1 : 0): gradient, feature
  CastLoop cast[kElements][kElements];  ///< [from][to]
  void (*fill)(float value, float* out, std::int64_t n);

  /// out = (((a0 + a1) + a2) + ...) of `arrays` arrays, then divided by `divisor` (1: as it is).
  /// `out` may be one of the arrays.
  void (*sum_arrays)(const float* const* in, int arrays, float divisor, float* out, std::int64_t n);
  /// Sum, and sum of squares, of x in 16 lanes and blocks of 4096 elements.
  float (*sum)(const float* x, std::int64_t n);
  float (*sum_squares)(const float* x, std::int64_t n);

  /// The largest, or smallest, of x in 16 lanes, joined as Binary::maximum and minimum do; of none
  /// -infinity, or infinity.
  float (*max)(const float* x, std::int64_t n);
  float (*min)(const float* x, std::int64_t n);

  SelectLoop select, select_one_left, select_one_right;  ///< x, or y, is one number

  void (*column_sums_begin)(ColumnSums* sums, std::int64_t columns);
  void (*column_sums_add)(ColumnSums* sums, const float* x, std::int64_t rows,
                          std::int64_t columns);
  void (*column_sums_end)(ColumnSums* sums, std::int64_t columns);

  /// y = max_pool(x) over whole windows inside the image. Starts from the lowest finite number, so
  /// NaN never wins (as in TensorFlow). `after_relu` pools relu(x), with the bits of doing so in
  /// two steps. x and y point to image 0.
  void (*max_pool)(const PoolGeometry& g, ImageRange images, bool after_relu, const float* x,
                   float* y);
  /// dx = gradient of max_pool: dy goes to the first largest element of its window; a NaN that
  /// comes first holds its place (as in TensorFlow). Overlapping windows add in row-major order.
  /// `after_relu`: x is the input of the relu and dx its gradient. Where `sums` is given, the rows
  /// of dx, [images x height x width, channels], are added to it in order. dx may be x when
  /// `is_quads(g)`.
  void (*max_pool_grad)(const PoolGeometry& g, ImageRange images, bool after_relu, const float* x,
                        const float* dy, float* dx, ColumnSums* sums);

  /// Optimizers' updates, the average of towers' gradients in the same pass.
  UpdateLoops update;
  GradientSumLoop gradient_sum;

  WinogradLoops winograd;

  /// loss[i] = log(sum_j exp(logits[i,j] - max)) - (logits[i,label] - max), and
  /// dlogits[i,j] = softmax(logits)[i,j] - (j == label). Rows `first` .. `last` - 1; labels must
  /// lie in 0 .. classes - 1. `loss` or `dlogits` may be null; dlogits may be the logits.
  void (*softmax_xent)(const float* logits, const std::int64_t* labels, float* loss, float* dlogits,
                       std::int64_t first, std::int64_t last, std::int64_t classes);

  /// out[c, r] = in[r, c], rows of `in` are `in_stride` apart, rows of `out` `out_stride`. Never in
  /// place.
  void (*transpose)(const float* in, std::int64_t in_stride, float* out, std::int64_t out_stride,
                    std::int64_t rows, std::int64_t columns);
};

/// Whether the windows of `g` are 2 x 2, cover the image without overlap or border, and channels
/// come in sixteens ("quads"): then every element of a pooling's gradient is written once.
bool is_quads(const PoolGeometry& g);

/// The loops for this processor, chosen at the first call.
const Loops& loops();

/// The loops of one level, or null where the processor or the build lacks it; for tests and
/// records.
const Loops* loops_of(Level level);

/// Makes `loops()` give another level, for tests; false (and no change) where it is lacking.
bool use_level(Level level);

/// "x86-64-v4", for the record of a run.
const char* level_name(Level level);

}  // namespace towerflow::simd
