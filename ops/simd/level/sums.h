// Part of level.cc: sums whose order depends neither on the register width nor on the calls.
#pragma once

#include "ops/simd/level/vector.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

constexpr Index kBlock = 4096;    // elements per block of a whole sum
constexpr Index kRowBlock = 128;  // rows per block of a column sum

void sum_arrays_loop(const float* const* in, int arrays, float divisor, float* out, Index n) {
  constexpr Index kPiece = 2048;  // stays in the L1 cache while all arrays are added
  for (Index begin = 0; begin < n; begin += kPiece) {
    const Index size = n - begin < kPiece ? n - begin : kPiece;
    float piece[kPiece];
    __builtin_memcpy(piece, in[0] + begin, static_cast<unsigned long>(size) * sizeof(float));
    for (int a = 1; a < arrays; ++a) {
      const float* more = in[a] + begin;
      for (Index i = 0; i < size; ++i) piece[i] += more[i];
    }
    float* to = out + begin;
    if (divisor != 1.0f)
      for (Index i = 0; i < size; ++i) to[i] = piece[i] / divisor;
    else
      __builtin_memcpy(to, piece, static_cast<unsigned long>(size) * sizeof(float));
  }
}

// Sums one block: element i goes to lane i % 16.
template <bool kSquares>
float block_sum(const float* x, Index n) {
  Lanes lanes{};
  Index i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (Index p = 0; p < kParts; ++p) {
      const Floats v = load(x + i + p * kWidth);
      lanes.part[p] += kSquares ? v * v : v;
    }
  if (i < n) {
    float rest[kLanes] = {};
    for (Index j = i; j < n; ++j) rest[j - i] = x[j];
    for (Index p = 0; p < kParts; ++p) {
      const Floats v = load(rest + p * kWidth);
      lanes.part[p] += kSquares ? v * v : v;
    }
  }
  return total(lanes);
}

template <bool kSquares>
float sum_loop(const float* x, Index n) {
  float sum = 0.0f;
  for (Index i = 0; i < n; i += kBlock)
    sum += block_sum<kSquares>(x + i, n - i < kBlock ? n - i : kBlock);
  return sum;
}

void column_sums_begin(ColumnSums* sums, Index columns) {
  zero(sums->total, columns);
  zero(sums->block, columns);
  sums->block_rows = 0;
}

// Adds rows to `sum`, `kVectors` vectors of columns at a time.
template <Index kVectors>
SIMD_INLINE void add_rows(float* sum, const float* x, Index rows, Index stride) {
  Floats acc[kVectors];
  for (Index v = 0; v < kVectors; ++v) acc[v] = load(sum + v * kWidth);
  for (Index r = 0; r < rows; ++r)
    for (Index v = 0; v < kVectors; ++v) acc[v] += load(x + r * stride + v * kWidth);
  for (Index v = 0; v < kVectors; ++v) store(sum + v * kWidth, acc[v]);
}

// Processors fetch memory ahead where it is read in order: long rows are added one by one.
void add_row_block(float* sum, const float* x, Index rows, Index stride, Index columns) {
  Index c = 0;
  if (columns > 8 * kWidth) {
    for (Index r = 0; r < rows; ++r)
      for (c = 0; c + kWidth <= columns; c += kWidth)
        store(sum + c, load(sum + c) + load(x + r * stride + c));
  } else {
    for (; c + 4 * kWidth <= columns; c += 4 * kWidth) add_rows<4>(sum + c, x + c, rows, stride);
    for (; c + kWidth <= columns; c += kWidth) add_rows<1>(sum + c, x + c, rows, stride);
  }
  for (Index r = 0; r < rows; ++r)
    for (Index i = c; i < columns; ++i) sum[i] += x[r * stride + i];
}

void close_block(ColumnSums* sums, Index columns) {
  for (Index c = 0; c < columns; ++c) sums->total[c] += sums->block[c];
  zero(sums->block, columns);
  sums->block_rows = 0;
}

constexpr Index kBlocksAtOnce = 4;
constexpr Index kNarrow = 8;  // columns
constexpr Index kNarrowRows = kBlocksAtOnce * kRowBlock;

// Adds four blocks of rows to the total, side by side: within a block each addition waits for the
// one before it. Reads whole vectors, beyond the last row if that is narrower.
template <class Row>
SIMD_INLINE void add_narrow_blocks(float* total, const float* x, Index stride, Index columns) {
  Row sum[kBlocksAtOnce] = {};
  for (Index r = 0; r < kRowBlock; ++r)
    for (Index b = 0; b < kBlocksAtOnce; ++b) {
      Row row;
      __builtin_memcpy(&row, x + (b * kRowBlock + r) * stride, sizeof(Row));
      sum[b] += row;
    }
  for (const Row& block : sum)
    for (Index c = 0; c < columns; ++c) total[c] += block[c];
}

// Adds as many rows as it can do fast to the total and returns their number.
Index add_narrow_rows(float* total, const float* x, Index rows, Index stride, Index columns) {
  using Float4 = float __attribute__((vector_size(16)));
  using Float8 = float __attribute__((vector_size(32)));
  Index done = 0;
  // As many rows follow as a vector may reach beyond the last one.
  for (; rows - done >= kNarrowRows + kNarrow; done += kNarrowRows) {
    if (columns <= 4)
      add_narrow_blocks<Float4>(total, x + done * stride, stride, columns);
    else
      add_narrow_blocks<Float8>(total, x + done * stride, stride, columns);
  }
  return done;
}

void column_sums_add(ColumnSums* sums, const float* x, Index rows, Index stride, Index columns) {
  if (columns <= kNarrow && sums->block_rows == 0) {
    const Index done = add_narrow_rows(sums->total, x, rows, stride, columns);
    x += done * stride;
    rows -= done;
  }
  while (rows > 0) {
    const Index room = kRowBlock - sums->block_rows;
    const Index now = rows < room ? rows : room;
    add_row_block(sums->block, x, now, stride, columns);
    sums->block_rows += now;
    if (sums->block_rows == kRowBlock) close_block(sums, columns);
    x += now * stride;
    rows -= now;
  }
}

void column_sums_end(ColumnSums* sums, Index columns) {
  if (sums->block_rows > 0) close_block(sums, columns);
}

void window_sums_loop(const float* x, Index window, float* out, Index n) {
  Index i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    Floats sum = load(x + i);
    for (Index k = 1; k < window; ++k) sum += load(x + i + k);
    store(out + i, sum);
  }
  for (; i < n; ++i) {
    float sum = x[i];
    for (Index k = 1; k < window; ++k) sum += x[i + k];
    out[i] = sum;
  }
}

}  // namespace
}  // namespace towerflow::simd
