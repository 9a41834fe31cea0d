// Part of level.cc: means, deviations and products of columns, and what is made of them.
#pragma once

#include "ops/simd/level/vector.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

// Processors fetch memory ahead where it is read in order. So the loops go through whole rows, not
// through a few columns of many rows.

constexpr Index kMomentRows = 64;     // of a block, whose sums are float32
constexpr Index kMomentColumns = 64;  // with as many rows, a block stays in the L1 cache

// The means and the squared deviations of up to kMomentColumns columns of one block of rows.
struct BlockMoments {
  float mean[kMomentColumns];
  float squares[kMomentColumns];
};

template <Index kVectors>
SIMD_INLINE void block_means(const float* x, Index rows, Index columns, float* mean) {
  Floats sum[kVectors];
  for (Index v = 0; v < kVectors; ++v) sum[v] = Floats{};
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) sum[v] += load(x + r * columns + v * kWidth);
  const float n = static_cast<float>(rows);
  for (Index v = 0; v < kVectors; ++v) store(mean + v * kWidth, sum[v] / n);
}

template <Index kVectors>
SIMD_INLINE void block_squares(const float* x, Index rows, Index columns, const float* mean,
                               float* squares) {
  Floats center[kVectors], square[kVectors];
  for (Index v = 0; v < kVectors; ++v) {
    center[v] = load(mean + v * kWidth);
    square[v] = Floats{};
  }
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) {
      const Floats off = load(x + r * columns + v * kWidth) - center[v];
      square[v] += off * off;
    }
  for (Index v = 0; v < kVectors; ++v) store(squares + v * kWidth, square[v]);
}

// The moments of as many columns as fill vectors; returns their number. The first pass over a block
// reads memory, and the second one the L1 cache.
SIMD_INLINE Index block_moments(const float* x, Index rows, Index columns, Index count,
                                BlockMoments& to) {
  constexpr Index kMeans = 8, kSquares = 4;  // vectors, as many as there are registers for
  const Index whole = count / kWidth * kWidth;
  Index c = 0;
  for (; c + kMeans * kWidth <= whole; c += kMeans * kWidth)
    block_means<kMeans>(x + c, rows, columns, to.mean + c);
  for (; c + kSquares * kWidth <= whole; c += kSquares * kWidth)
    block_means<kSquares>(x + c, rows, columns, to.mean + c);
  for (; c < whole; c += kWidth) block_means<1>(x + c, rows, columns, to.mean + c);
  c = 0;
  for (; c + kSquares * kWidth <= whole; c += kSquares * kWidth)
    block_squares<kSquares>(x + c, rows, columns, to.mean + c, to.squares + c);
  for (; c < whole; c += kWidth)
    block_squares<1>(x + c, rows, columns, to.mean + c, to.squares + c);
  return whole;
}

SIMD_INLINE void one_column_moments(const float* x, Index rows, Index columns, float* mean,
                                    float* squares) {
  float sum = 0.0f, square = 0.0f;
  for (Index r = 0; r < rows; ++r) sum += x[r * columns];
  sum /= static_cast<float>(rows);
  for (Index r = 0; r < rows; ++r) square += (x[r * columns] - sum) * (x[r * columns] - sum);
  *mean = sum;
  *squares = square;
}

// Chan, Golub and LeVeque 1983: the moments of two sets from those of each.
void moments_loop(const float* x, Index rows, Index columns, Index before, double* mean,
                  double* squares) {
  for (Index row = 0; row < rows; row += kMomentRows) {
    const Index now = rows - row < kMomentRows ? rows - row : kMomentRows;
    const double all = static_cast<double>(before + row + now);
    const double share = static_cast<double>(now) / all;
    const double weight = static_cast<double>(before + row) * share;
    for (Index column = 0; column < columns; column += kMomentColumns) {
      const Index count = columns - column < kMomentColumns ? columns - column : kMomentColumns;
      const float* block = x + row * columns + column;
      BlockMoments found;
      for (Index c = block_moments(block, now, columns, count, found); c < count; ++c)
        one_column_moments(block + c, now, columns, found.mean + c, found.squares + c);
      double* to_mean = mean + column;
      double* to_squares = squares + column;
      for (Index i = 0; i < count; ++i) {
        const double off = static_cast<double>(found.mean[i]) - to_mean[i];
        to_mean[i] += off * share;
        to_squares[i] += static_cast<double>(found.squares[i]) + off * off * weight;
      }
    }
  }
}

template <Index kRows>
SIMD_INLINE void normalize_rows(const float* x, const float* mean, const float* factor,
                                const float* offset, float* y, Index columns) {
  Index c = 0;
  for (; c + kWidth <= columns; c += kWidth) {
    const Floats center = load(mean + c), scale = load(factor + c), shift = load(offset + c);
    for (Index i = c; i < c + kRows * columns; i += columns)
      store(y + i, (load(x + i) - center) * scale + shift);
  }
  for (; c < columns; ++c)
    for (Index i = c; i < c + kRows * columns; i += columns)
      y[i] = (x[i] - mean[c]) * factor[c] + offset[c];
}

void normalize_loop(const float* x, const float* mean, const float* factor, const float* offset,
                    float* y, Index rows, Index columns) {
  Index row = 0;
  if (columns <= kMomentColumns)  // two short rows are read in order nearly as well as one
    for (; row + 2 <= rows; row += 2)
      normalize_rows<2>(x + row * columns, mean, factor, offset, y + row * columns, columns);
  for (; row < rows; ++row)
    normalize_rows<1>(x + row * columns, mean, factor, offset, y + row * columns, columns);
}

constexpr Index kSumColumns = 1024;  // whose sums stay in the L1 cache

SIMD_INLINE void add_products(const float* dy, const float* x, const float* mean, Index columns,
                              float* sums, float* products) {
  Index c = 0;
  for (; c + kWidth <= columns; c += kWidth) {
    const Floats slope = load(dy + c);
    store(sums + c, load(sums + c) + slope);
    store(products + c, load(products + c) + slope * (load(x + c) - load(mean + c)));
  }
  for (; c < columns; ++c) {
    sums[c] += dy[c];
    products[c] += dy[c] * (x[c] - mean[c]);
  }
}

void gradient_sums_loop(const float* dy, const float* x, const float* mean, Index rows,
                        Index columns, double* sums, double* products) {
  for (Index block = 0; block < rows; block += kMomentRows) {
    const Index end = rows - block < kMomentRows ? rows : block + kMomentRows;
    for (Index column = 0; column < columns; column += kSumColumns) {
      const Index count = columns - column < kSumColumns ? columns - column : kSumColumns;
      float block_sums[kSumColumns], block_products[kSumColumns];
      zero(block_sums, count);
      zero(block_products, count);
      for (Index row = block; row < end; ++row) {
        const Index at = row * columns + column;
        add_products(dy + at, x + at, mean + column, count, block_sums, block_products);
      }
      for (Index i = 0; i < count; ++i) {
        sums[column + i] += static_cast<double>(block_sums[i]);
        products[column + i] += static_cast<double>(block_products[i]);
      }
    }
  }
}

void normalization_gradient_loop(const float* dy, const float* x, const float* mean,
                                 const float* shift, const float* slope, const float* factor,
                                 float* dx, Index rows, Index columns) {
  for (Index row = 0; row < rows; ++row, dy += columns, x += columns, dx += columns) {
    Index c = 0;
    for (; c + kWidth <= columns; c += kWidth) {
      const Floats tilt = (load(x + c) - load(mean + c)) * load(slope + c);
      store(dx + c, (load(dy + c) - load(shift + c) - tilt) * load(factor + c));
    }
    for (; c < columns; ++c) dx[c] = (dy[c] - shift[c] - (x[c] - mean[c]) * slope[c]) * factor[c];
  }
}

}  // namespace
}  // namespace towerflow::simd
