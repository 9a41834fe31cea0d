// Part of level.cc: means, deviations and products of columns, and what is made of them.
#pragma once

#include "ops/simd/level/vector.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

constexpr Index kMomentRows = 64;  // with 4 vectors of columns, a block stays in the L1 cache
constexpr Index kMomentVectors = 4;
constexpr Index kMomentColumns = kMomentVectors * 16;

// The sums and the squared deviations of up to kMomentColumns columns of one block of rows.
struct BlockMoments {
  float mean[kMomentColumns];
  float squares[kMomentColumns];
};

template <Index kVectors>
SIMD_INLINE void block_moments(const float* x, Index rows, Index columns, float* mean,
                               float* squares) {
  Floats sum[kVectors], square[kVectors];
  for (Index v = 0; v < kVectors; ++v) sum[v] = square[v] = Floats{};
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) sum[v] += load(x + r * columns + v * kWidth);
  const float n = static_cast<float>(rows);
  for (Index v = 0; v < kVectors; ++v) sum[v] = sum[v] / n;
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) {
      const Floats off = load(x + r * columns + v * kWidth) - sum[v];
      square[v] += off * off;
    }
  for (Index v = 0; v < kVectors; ++v) {
    store(mean + v * kWidth, sum[v]);
    store(squares + v * kWidth, square[v]);
  }
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
      Index c = 0;
      for (; c + kMomentVectors * kWidth <= count; c += kMomentVectors * kWidth)
        block_moments<kMomentVectors>(block + c, now, columns, found.mean + c, found.squares + c);
      for (; c + kWidth <= count; c += kWidth)
        block_moments<1>(block + c, now, columns, found.mean + c, found.squares + c);
      for (; c < count; ++c)
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

// Rows of up to `kVectors` vectors of columns, whose parameters stay in registers.
template <Index kVectors>
SIMD_INLINE void normalize_block(const float* x, const float* mean, const float* factor,
                                 const float* offset, float* y, Index rows, Index columns) {
  Floats center[kVectors], scale[kVectors], shift[kVectors];
  for (Index v = 0; v < kVectors; ++v) {
    center[v] = load(mean + v * kWidth);
    scale[v] = load(factor + v * kWidth);
    shift[v] = load(offset + v * kWidth);
  }
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) {
      const Index i = r * columns + v * kWidth;
      store(y + i, (load(x + i) - center[v]) * scale[v] + shift[v]);
    }
}

void normalize_loop(const float* x, const float* mean, const float* factor, const float* offset,
                    float* y, Index rows, Index columns) {
  for (Index row = 0; row < rows; row += kMomentRows) {
    const Index now = rows - row < kMomentRows ? rows - row : kMomentRows;
    const float* from = x + row * columns;
    float* to = y + row * columns;
    Index c = 0;
    for (; c + 4 * kWidth <= columns; c += 4 * kWidth)
      normalize_block<4>(from + c, mean + c, factor + c, offset + c, to + c, now, columns);
    for (; c + kWidth <= columns; c += kWidth)
      normalize_block<1>(from + c, mean + c, factor + c, offset + c, to + c, now, columns);
    for (Index r = 0; r < now && c < columns; ++r)
      for (Index i = c; i < columns; ++i)
        to[r * columns + i] = (from[r * columns + i] - mean[i]) * factor[i] + offset[i];
  }
}

template <Index kVectors>
SIMD_INLINE void block_products(const float* dy, const float* x, const float* mean, Index rows,
                                Index columns, float* sums, float* products) {
  Floats sum[kVectors], product[kVectors], center[kVectors];
  for (Index v = 0; v < kVectors; ++v) {
    sum[v] = product[v] = Floats{};
    center[v] = load(mean + v * kWidth);
  }
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) {
      const Floats slope = load(dy + r * columns + v * kWidth);
      sum[v] += slope;
      product[v] += slope * (load(x + r * columns + v * kWidth) - center[v]);
    }
  for (Index v = 0; v < kVectors; ++v) {
    store(sums + v * kWidth, sum[v]);
    store(products + v * kWidth, product[v]);
  }
}

void gradient_sums_loop(const float* dy, const float* x, const float* mean, Index rows,
                        Index columns, double* sums, double* products) {
  for (Index row = 0; row < rows; row += kMomentRows) {
    const Index now = rows - row < kMomentRows ? rows - row : kMomentRows;
    for (Index column = 0; column < columns; column += kMomentColumns) {
      const Index count = columns - column < kMomentColumns ? columns - column : kMomentColumns;
      const Index at = row * columns + column;
      const float* center = mean + column;
      float block_sums[kMomentColumns], block_of_products[kMomentColumns];
      Index c = 0;
      for (; c + 2 * kWidth <= count; c += 2 * kWidth)
        block_products<2>(dy + at + c, x + at + c, center + c, now, columns, block_sums + c,
                          block_of_products + c);
      for (; c + kWidth <= count; c += kWidth)
        block_products<1>(dy + at + c, x + at + c, center + c, now, columns, block_sums + c,
                          block_of_products + c);
      for (; c < count; ++c) {
        float sum = 0.0f, product = 0.0f;
        for (Index r = 0; r < now; ++r) {
          const Index i = at + c + r * columns;
          sum += dy[i];
          product += dy[i] * (x[i] - center[c]);
        }
        block_sums[c] = sum;
        block_of_products[c] = product;
      }
      for (Index i = 0; i < count; ++i) {
        sums[column + i] += static_cast<double>(block_sums[i]);
        products[column + i] += static_cast<double>(block_of_products[i]);
      }
    }
  }
}

template <Index kVectors>
SIMD_INLINE void gradient_block(const float* dy, const float* x, const float* mean,
                                const float* shift, const float* slope, const float* factor,
                                float* dx, Index rows, Index columns) {
  Floats center[kVectors], down[kVectors], tilt[kVectors], scale[kVectors];
  for (Index v = 0; v < kVectors; ++v) {
    center[v] = load(mean + v * kWidth);
    down[v] = load(shift + v * kWidth);
    tilt[v] = load(slope + v * kWidth);
    scale[v] = load(factor + v * kWidth);
  }
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) {
      const Index i = r * columns + v * kWidth;
      store(dx + i, (load(dy + i) - down[v] - (load(x + i) - center[v]) * tilt[v]) * scale[v]);
    }
}

void normalization_gradient_loop(const float* dy, const float* x, const float* mean,
                                 const float* shift, const float* slope, const float* factor,
                                 float* dx, Index rows, Index columns) {
  for (Index row = 0; row < rows; row += kMomentRows) {
    const Index now = rows - row < kMomentRows ? rows - row : kMomentRows;
    const Index at = row * columns;
    Index c = 0;
    for (; c + 2 * kWidth <= columns; c += 2 * kWidth)
      gradient_block<2>(dy + at + c, x + at + c, mean + c, shift + c, slope + c, factor + c,
                        dx + at + c, now, columns);
    for (; c + kWidth <= columns; c += kWidth)
      gradient_block<1>(dy + at + c, x + at + c, mean + c, shift + c, slope + c, factor + c,
                        dx + at + c, now, columns);
    for (Index r = 0; r < now && c < columns; ++r)
      for (Index i = c; i < columns; ++i) {
        const Index k = at + r * columns + i;
        dx[k] = (dy[k] - shift[i] - (x[k] - mean[i]) * slope[i]) * factor[i];
      }
  }
}

}  // namespace
}  // namespace towerflow::simd
