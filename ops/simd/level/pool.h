// Part of level.cc: max pooling of NHWC images and its gradient.
#pragma once

#include "ops/simd/level/sums.h"
#include "ops/simd/level/vector.h"
#include "ops/simd/loops.h"

namespace towerflow::simd {
namespace {

constexpr float kLowest = -3.402823466385288598e38f;

// The part of a window inside the image.
struct Span {
  Index begin, end;
};
SIMD_INLINE Span span_of(const WindowAxis& axis, Index position) {
  const Index start = position * axis.stride - axis.pad_before;
  const Index stop = start + axis.window;
  return {start < 0 ? 0 : start, stop < axis.input ? stop : axis.input};
}

template <bool kRelu, class T>
SIMD_INLINE T value_of(T x) {
  if constexpr (kRelu)
    return relu_of(x);
  else
    return x;
}

SIMD_INLINE Floats larger(Floats a, Floats b) { return select(b > a, b, a); }

// Computes one result position, all channels; x points to the image.
template <bool kRelu>
SIMD_INLINE void pool_window(const PoolGeometry& g, Span rows, Span columns, const float* x,
                             float* y) {
  const Index channels = g.channels;
  Index c = 0;
  for (; c + kWidth <= channels; c += kWidth) {
    Floats m = splat(kLowest);
    for (Index h = rows.begin; h < rows.end; ++h)
      for (Index w = columns.begin; w < columns.end; ++w)
        m = larger(m, value_of<kRelu>(load(x + (h * g.columns.input + w) * channels + c)));
    store(y + c, m);
  }
  for (; c < channels; ++c) {
    float m = kLowest;
    for (Index h = rows.begin; h < rows.end; ++h)
      for (Index w = columns.begin; w < columns.end; ++w) {
        const float v = value_of<kRelu>(x[(h * g.columns.input + w) * channels + c]);
        m = v > m ? v : m;
      }
    y[c] = m;
  }
}

// Fetches into the caches the elements of x that the window below this one uses and this one does
// not: rows of an image are too far apart for the hardware to look ahead. Below the last windows of
// an image is the next image.
SIMD_INLINE void fetch_below(const PoolGeometry& g, Span rows, Span columns, const float* x) {
  constexpr Index kLine = 16;
  const Index width = g.columns.stride * g.channels;
  for (Index h = rows.end; h < rows.end + g.rows.stride; ++h) {
    const float* row = x + (h * g.columns.input + columns.begin) * g.channels;
    for (Index i = 0; i < width; i += kLine) __builtin_prefetch(row + i);
  }
}

template <bool kRelu>
void pool_images(const PoolGeometry& g, ImageRange images, const float* x, float* y) {
  const Index image = g.rows.input * g.columns.input * g.channels;
  y += images.first * g.rows.output * g.columns.output * g.channels;
  for (Index n = images.first; n < images.first + images.count; ++n)
    for (Index p = 0; p < g.rows.output; ++p)
      for (Index q = 0; q < g.columns.output; ++q, y += g.channels) {
        const Span rows = span_of(g.rows, p), columns = span_of(g.columns, q);
        fetch_below(g, rows, columns, x + n * image);
        pool_window<kRelu>(g, rows, columns, x + n * image, y);
      }
}

void max_pool_loop(const PoolGeometry& g, ImageRange images, bool after_relu, const float* x,
                   float* y) {
  if (after_relu)
    pool_images<true>(g, images, x, y);
  else
    pool_images<false>(g, images, x, y);
}

// Adds dy of one window to the first largest element, for the kWidth channels from x and dx on.
template <bool kRelu>
SIMD_INLINE void grad_vector(const PoolGeometry& g, Span rows, Span columns, const float* x,
                             Floats dy, float* dx) {
  Floats m = value_of<kRelu>(load(x + (rows.begin * g.columns.input + columns.begin) * g.channels));
  Ints best = {};
  std::int32_t position = 0;
  for (Index h = rows.begin; h < rows.end; ++h)
    for (Index w = columns.begin; w < columns.end; ++w, ++position) {
      const Floats v = value_of<kRelu>(load(x + (h * g.columns.input + w) * g.channels));
      const Ints better = m < v;
      m = select(better, v, m);
      best = better ? Ints{} + position : best;
    }
  position = 0;
  for (Index h = rows.begin; h < rows.end; ++h)
    for (Index w = columns.begin; w < columns.end; ++w, ++position) {
      float* to = dx + (h * g.columns.input + w) * g.channels;
      store(to, load(to) + select(best == position, dy, Floats{}));
    }
}

template <bool kRelu>
SIMD_INLINE void grad_scalar(const PoolGeometry& g, Span rows, Span columns, const float* x,
                             float dy, float* dx) {
  Index best = (rows.begin * g.columns.input + columns.begin) * g.channels;
  for (Index h = rows.begin; h < rows.end; ++h)
    for (Index w = columns.begin; w < columns.end; ++w) {
      const Index at = (h * g.columns.input + w) * g.channels;
      if (value_of<kRelu>(x[best]) < value_of<kRelu>(x[at])) best = at;
    }
  dx[best] += dy;
}

// Handles any windows. x and dx point to the image. Rows of dx are zeroed when the first window
// reaches them, so that they come into the caches while windows above are handled.
template <bool kRelu>
void grad_image(const PoolGeometry& g, const float* x, const float* dy, float* dx) {
  const Index row = g.columns.input * g.channels, size = g.rows.input * row;
  Index zeroed = 0;  // rows
  for (Index p = 0; p < g.rows.output; ++p) {
    const Span rows = span_of(g.rows, p);
    if (rows.end > zeroed) {
      zero(dx + zeroed * row, (rows.end - zeroed) * row);
      zeroed = rows.end;
    }
    for (Index q = 0; q < g.columns.output; ++q, dy += g.channels) {
      const Span columns = span_of(g.columns, q);
      if (rows.begin >= rows.end || columns.begin >= columns.end) continue;
      fetch_below(g, rows, columns, x);
      fetch_below(g, rows, columns, dx);
      Index c = 0;
      for (; c + kWidth <= g.channels; c += kWidth)
        grad_vector<kRelu>(g, rows, columns, x + c, load(dy + c), dx + c);
      for (; c < g.channels; ++c) grad_scalar<kRelu>(g, rows, columns, x + c, dy[c], dx + c);
    }
  }
  if (zeroed < g.rows.input) zero(dx + zeroed * row, size - zeroed * row);
  if constexpr (kRelu) {
    for (Index i = 0; i < size; ++i) dx[i] = dx[i] * (x[i] > 0.0f ? 1.0f : 0.0f);
  }
}

// Handles a 2 x 2 window that overlaps no other: each element of dx is written once, without
// zeroing.
template <bool kRelu>
SIMD_INLINE void grad_quad(const float* x, Index right, Index down, Floats dy, float* dx) {
  const Floats zeros = {};
  dy = dy + 0.0f;  // makes -0 a 0, as adding to a zeroed dx would
  Floats v[4] = {load(x), load(x + right), load(x + down), load(x + down + right)};
  Floats r[4];
  for (int i = 0; i < 4; ++i) r[i] = value_of<kRelu>(v[i]);
  const Ints second = r[0] < r[1];
  const Floats top = select(second, r[1], r[0]);
  const Ints third = top < r[2];
  const Floats three = select(third, r[2], top);
  const Ints fourth = three < r[3];
  Floats d[4];
  d[3] = select(fourth, dy, zeros);
  d[2] = select(third & ~fourth, dy, zeros);
  d[1] = select(second & ~third & ~fourth, dy, zeros);
  d[0] = select(~second & ~third & ~fourth, dy, zeros);
  if constexpr (kRelu) {
    for (int i = 0; i < 4; ++i) d[i] = d[i] * select(v[i] > 0.0f, splat(1.0f), zeros);
  }
  store(dx, d[0]);
  store(dx + right, d[1]);
  store(dx + down, d[2]);
  store(dx + down + right, d[3]);
}

template <bool kRelu>
void grad_image_quads(const PoolGeometry& g, const float* x, const float* dy, float* dx,
                      ColumnSums* sums) {
  const Index channels = g.channels;
  const Index down = g.columns.input * channels;
  for (Index p = 0; p < g.rows.output; ++p, x += 2 * down, dx += 2 * down) {
    for (Index q = 0; q < g.columns.output; ++q, dy += channels) {
      fetch_below(g, {0, 2}, {2 * q, 2 * q + 2}, x);
      fetch_below(g, {0, 2}, {2 * q, 2 * q + 2}, dx);
      for (Index c = 0; c < channels; c += kWidth)
        grad_quad<kRelu>(x + 2 * q * channels + c, channels, down, load(dy + c),
                         dx + 2 * q * channels + c);
    }
    if (sums != nullptr) column_sums_add(sums, dx, 2 * g.columns.input, channels, channels);
  }
}

template <bool kRelu>
void grad_images(const PoolGeometry& g, ImageRange images, const float* x, const float* dy,
                 float* dx, ColumnSums* sums) {
  const Index image = g.rows.input * g.columns.input * g.channels;
  const Index result = g.rows.output * g.columns.output * g.channels;
  const bool quads = is_disjoint_2x2(g);
  for (Index n = images.first; n < images.first + images.count; ++n) {
    if (quads) {
      grad_image_quads<kRelu>(g, x + n * image, dy + n * result, dx + n * image, sums);
      continue;
    }
    grad_image<kRelu>(g, x + n * image, dy + n * result, dx + n * image);
    if (sums != nullptr)
      column_sums_add(sums, dx + n * image, g.rows.input * g.columns.input, g.channels, g.channels);
  }
}

void max_pool_grad_loop(const PoolGeometry& g, ImageRange images, bool after_relu, const float* x,
                        const float* dy, float* dx, ColumnSums* sums) {
  if (after_relu)
    grad_images<true>(g, images, x, dy, dx, sums);
  else
    grad_images<false>(g, images, x, dy, dx, sums);
}

}  // namespace
}  // namespace towerflow::simd
