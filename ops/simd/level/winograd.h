// Part of level.cc: convolutions by minimal filtering; see ops/simd/winograd_loops.h.
#pragma once

#include "ops/simd/level/products.h"
#include "ops/simd/level/vector.h"
#include "ops/simd/winograd_loops.h"

namespace towerflow::simd {
namespace {

// Tiles are 6 x 6 inputs; `kWindow` determines the number of results per tile.
constexpr Index kTile = 6;
constexpr Index kPoints = kTile * kTile;
template <int kWindow>
constexpr Index kResults = kTile + 1 - kWindow;

// The transforms along one axis. The matrices are those of Lavin and Gray: data B^T, results A^T,
// filter G.
SIMD_INLINE void data_to_points(const Floats* d, Floats* v) {
  const Floats a = d[1] - d[3], b = d[2] - d[4];
  v[0] = 2.0f * (d[0] + d[4]) - 3.0f * a - 4.0f * d[2];
  v[1] = 2.0f * (d[4] - d[1]) + d[2] + 5.0f * d[3];
  v[2] = 5.0f * d[2] - 2.0f * (d[1] + d[4]) - d[3];
  v[3] = 2.0f * a + b;
  v[4] = a - 2.0f * b;
  v[5] = 2.0f * (d[1] + d[5]) - 3.0f * b - 4.0f * d[3];
}

template <int kWindow>
SIMD_INLINE void points_to_results(const Floats* m, Floats* y) {
  const Floats sum = m[1] + m[2], difference = m[1] - m[2];
  y[0] = m[0] + sum + m[3] + m[4];
  if constexpr (kWindow == 5) {
    y[1] = difference + 0.5f * m[3] - 2.0f * m[4] + m[5];
  } else {
    y[1] = difference + 0.5f * m[3] - 2.0f * m[4];
    y[2] = sum + 0.25f * m[3] + 4.0f * m[4];
    y[3] = difference + 0.125f * m[3] - 8.0f * m[4] + m[5];
  }
}

// The transpose of points_to_results.
template <int kWindow>
SIMD_INLINE void results_to_points(const Floats* y, Floats* w) {
  w[0] = y[0];
  if constexpr (kWindow == 5) {
    w[1] = y[0] + y[1];
    w[2] = y[0] - y[1];
    w[3] = y[0] + 0.5f * y[1];
    w[4] = y[0] - 2.0f * y[1];
    w[5] = y[1];
  } else {
    const Floats even = y[0] + y[2], odd = y[1] + y[3];
    w[1] = even + odd;
    w[2] = even - odd;
    w[3] = y[0] + 0.5f * y[1] + 0.25f * y[2] + 0.125f * y[3];
    w[4] = y[0] - 2.0f * y[1] + 4.0f * y[2] - 8.0f * y[3];
    w[5] = y[3];
  }
}

// The factors of the filter's values at the points.
constexpr float kFilterScale[kTile] = {0.5f, 1.0f / 6, 1.0f / 6, 16.0f / 15, 1.0f / 30, 0.5f};
constexpr float kPointOf[kTile - 1] = {0.0f, 1.0f, -1.0f, 0.5f, -2.0f};

template <int kWindow>
SIMD_INLINE void filter_to_points(const Floats* g, Floats* u) {
  u[0] = kFilterScale[0] * g[0];
  for (Index p = 1; p < kTile - 1; ++p) {
    Floats value = g[kWindow - 1];
    for (Index i = kWindow - 2; i >= 0; --i) value = value * kPointOf[p] + g[i];
    u[p] = kFilterScale[p] * value;
  }
  u[5] = kFilterScale[5] * g[kWindow - 1];
}

// The transpose of filter_to_points.
template <int kWindow>
SIMD_INLINE void points_to_filter(const Floats* u, Floats* g) {
  Floats power[kTile];
  for (Index p = 0; p < kTile; ++p) power[p] = kFilterScale[p] * u[p];
  for (Index i = 0; i < kWindow; ++i) {
    g[i] = (power[1] + power[2]) + (power[3] + power[4]);
    if (i == 0) g[i] += power[0];
    if (i == kWindow - 1) g[i] += power[5];
    for (Index p = 1; p < kTile - 1; ++p) power[p] *= kPointOf[p];
  }
}

// Returns the distance between the values of a block at one point and the next. It must not be a
// power of two, or all points would fall into the same lines of the L1 cache.
constexpr Index stride_of(Index tiles, Index channels) { return tiles * channels + 16; }

// The position of one of a block of consecutive tiles.
struct TilePlace {
  Index image, row, column;  // of its first result
};

template <int kWindow>
struct Tiling {
  explicit Tiling(const ConvGeometry& geometry)
      : g(geometry),
        rows((g.rows.output + kResults<kWindow> - 1) / kResults<kWindow>),
        columns((g.columns.output + kResults<kWindow> - 1) / kResults<kWindow>) {}
  TilePlace place(Index t) const {
    const Index in_image = t % (rows * columns);
    return {t / (rows * columns), in_image / columns * kResults<kWindow>,
            in_image % columns * kResults<kWindow>};
  }
  Index tiles(Index images) const { return images * rows * columns; }

  const ConvGeometry& g;
  Index rows, columns;
};

// A square of an image, with zeros outside the image.
struct Patch {
  const float* corner;  // may be outside the image
  Index row_stride, column_stride;
  Index top, bottom, left, right;  // the part inside the image

  template <int kSize>
  SIMD_INLINE void column(Index j, Index c, Floats* out) const {
    const float* at = corner + j * column_stride + c;
    const bool outside = j < left || j >= right;
    for (Index i = 0; i < kSize; ++i)
      out[i] = outside || i < top || i >= bottom ? Floats{} : load(at + i * row_stride);
  }
};

// Images as seen by tiles: the first tile's corner is `rows_before`, `columns_before` ahead of the
// image.
struct Plane {
  Index height, width, channels;
  Index rows_before, columns_before;

  // Returns the kSize x kSize square of a tile.
  template <int kSize>
  SIMD_INLINE Patch patch(const float* images, const TilePlace& tile) const {
    const Index row = tile.row - rows_before, column = tile.column - columns_before;
    const auto from = [](Index start) { return start < 0 ? -start : 0; };
    const auto to = [](Index start, Index end) {
      return end - start < kSize ? end - start : kSize;
    };
    return {images + ((tile.image * height + row) * width + column) * channels,
            width * channels,
            channels,
            from(row),
            to(row, height),
            from(column),
            to(column, width)};
  }
};

// Computes values[p * stride + c], the patch's channels at the points.
template <int kSize, class Transform>
SIMD_INLINE void to_points(const Patch& patch, Index channels, Index stride, float* values,
                           Transform transform) {
  for (Index c = 0; c < channels; c += kWidth) {
    Floats half[kTile][kSize];
    for (Index j = 0; j < kSize; ++j) {
      Floats in[kSize], out[kTile];
      patch.column<kSize>(j, c, in);
      transform(in, out);
      for (Index i = 0; i < kTile; ++i) half[i][j] = out[i];
    }
    for (Index i = 0; i < kTile; ++i) {
      Floats out[kTile];
      transform(half[i], out);
      for (Index j = 0; j < kTile; ++j) store(values + (i * kTile + j) * stride + c, out[j]);
    }
  }
}

// Transforms tiles first .. first + count - 1 to the points.
template <int kSize, int kWindow, class Transform>
void tiles_at_points(const Tiling<kWindow>& tiling, const Plane& plane, Index first, Index count,
                     const float* images, float* values, Transform transform) {
  for (Index t = 0; t < count; ++t)
    to_points<kSize>(plane.patch<kSize>(images, tiling.place(first + t)), plane.channels,
                     stride_of(count, plane.channels), values + t * plane.channels, transform);
}
template <int kWindow>
void images_at_points(const Tiling<kWindow>& tiling, Index first, Index count, const float* x,
                      float* values) {
  const ConvGeometry& g = tiling.g;
  const Plane plane{g.rows.input, g.columns.input, g.in_channels, g.rows.pad_before,
                    g.columns.pad_before};
  tiles_at_points<kTile>(tiling, plane, first, count, x, values,
                         [](const Floats* in, Floats* out) { data_to_points(in, out); });
}
template <int kWindow>
void gradients_at_points(const Tiling<kWindow>& tiling, Index first, Index count, const float* dy,
                         float* values) {
  const ConvGeometry& g = tiling.g;
  const Plane plane{g.rows.output, g.columns.output, g.out_channels, 0, 0};
  tiles_at_points<kResults<kWindow>>(
      tiling, plane, first, count, dy, values,
      [](const Floats* in, Floats* out) { results_to_points<kWindow>(in, out); });
}

template <int kWindow>
void results_from_points(const Tiling<kWindow>& tiling, Index first, Index count,
                         const float* values, const float* bias, bool relu, float* y) {
  constexpr Index kSize = kResults<kWindow>;
  const ConvGeometry& g = tiling.g;
  const Index channels = g.out_channels, stride = stride_of(count, channels);
  for (Index t = 0; t < count; ++t) {
    const TilePlace place = tiling.place(first + t);
    const Index height = g.rows.output - place.row, width = g.columns.output - place.column;
    float* corner =
        y +
        ((place.image * g.rows.output + place.row) * g.columns.output + place.column) * channels;
    for (Index c = 0; c < channels; c += kWidth) {
      Floats half[kSize][kTile];
      for (Index j = 0; j < kTile; ++j) {
        Floats in[kTile], out[kSize];
        for (Index i = 0; i < kTile; ++i)
          in[i] = load(values + (i * kTile + j) * stride + t * channels + c);
        points_to_results<kWindow>(in, out);
        for (Index i = 0; i < kSize; ++i) half[i][j] = out[i];
      }
      for (Index i = 0; i < kSize && i < height; ++i) {
        Floats out[kSize];
        points_to_results<kWindow>(half[i], out);
        for (Index j = 0; j < kSize && j < width; ++j) {
          Floats value = out[j];
          if (bias != nullptr) value += load(bias + c);
          if (relu) value = relu_of(value);
          store(corner + (i * g.columns.output + j) * channels + c, value);
        }
      }
    }
  }
}

// Memory that the next transform reads or writes. It is brought into the L2 cache in kPoints parts,
// while products are computed: the rows of a patch are too short for the processor to see what
// comes next.
struct Upcoming {
  const float* begin;
  Index lines;  // of the cache

  SIMD_INLINE void fetch(Index part) const {
    const Index end = lines * (part + 1) / kPoints;
    for (Index i = lines * part / kPoints; i < end; ++i)
      __builtin_prefetch(begin + i * kLine, 0, 2);
  }
  static constexpr Index kLine = 16;  // floats
};

// Returns whether an L2 cache of 1 MB has room beside the values of a block and the filter.
SIMD_INLINE bool leaves_room(Index in, Index out) {
  constexpr Index kMost = 3 << 16;  // floats
  return kPoints * (kWinogradBlock * (in + out) + in * out) <= kMost;
}

// Returns the rows of images that tiles first .. last - 1 cover; none if the cache has no room.
template <int kWindow>
SIMD_INLINE Upcoming rows_of(const Tiling<kWindow>& tiling, Index first, Index last,
                             const float* images, Index height, Index row_size) {
  if (!leaves_room(tiling.g.in_channels, tiling.g.out_channels)) return {images, 0};
  const auto row = [&](Index t) {
    const TilePlace place = tiling.place(t);
    return (place.image * height + place.row) * row_size;
  };
  return {images + row(first), (row(last) - row(first)) / Upcoming::kLine};
}

template <int kWindow>
void convolve_images(const ConvGeometry& g, Index first, Index last, const float* x,
                     const float* at_points, const float* bias, bool relu, float* y,
                     float* scratch) {
  const Tiling<kWindow> tiling(g);
  const Index in = g.in_channels, out = g.out_channels, end = tiling.tiles(last);
  float* results = scratch + kPoints * stride_of(kWinogradBlock, in);
  for (Index t = tiling.tiles(first); t < end; t += kWinogradBlock) {
    const Index count = end - t < kWinogradBlock ? end - t : kWinogradBlock;
    const Index next = t + count, after = end - next < kWinogradBlock ? end : next + kWinogradBlock;
    const Upcoming inputs = rows_of(tiling, next, after, x, g.rows.input, g.columns.input * in);
    const Upcoming outputs = rows_of(tiling, t, next, y, g.rows.output, g.columns.output * out);
    images_at_points(tiling, t, count, x, scratch);
    for (Index p = 0; p < kPoints; ++p) {
      outputs.fetch(p);
      inputs.fetch(p);
      multiply(scratch + p * stride_of(count, in), at_points + p * in * out,
               results + p * stride_of(count, out), count, in, out);
    }
    results_from_points(tiling, t, count, results, bias, relu, y);
  }
}

template <int kWindow>
void filter_gradient_of(const ConvGeometry& g, Index first, Index last, const float* x,
                        const float* dy, float* sums, float* scratch) {
  const Tiling<kWindow> tiling(g);
  const Index in = g.in_channels, out = g.out_channels, end = tiling.tiles(last);
  float* gradients = scratch + kPoints * stride_of(kWinogradBlock, in);
  for (Index t = tiling.tiles(first); t < end; t += kWinogradBlock) {
    const Index count = end - t < kWinogradBlock ? end - t : kWinogradBlock;
    const Index next = t + count, after = end - next < kWinogradBlock ? end : next + kWinogradBlock;
    const Upcoming inputs = rows_of(tiling, next, after, x, g.rows.input, g.columns.input * in);
    const Upcoming outputs =
        rows_of(tiling, next, after, dy, g.rows.output, g.columns.output * out);
    images_at_points(tiling, t, count, x, scratch);
    gradients_at_points(tiling, t, count, dy, gradients);
    for (Index p = 0; p < kPoints; ++p) {
      inputs.fetch(p);
      outputs.fetch(p);
      add_transposed_product(scratch + p * stride_of(count, in),
                             gradients + p * stride_of(count, out), sums + p * in * out, count, in,
                             out);
    }
  }
}

template <int kWindow>
void filter_at_points_of(bool turned, const float* filter, Index in, Index out, Index first,
                         Index last, float* at_points) {
  for (Index c = first; c < last; ++c)
    for (Index k = 0; k < out; k += kWidth) {
      Floats half[kTile][kWindow];
      for (Index j = 0; j < kWindow; ++j) {
        Floats column[kWindow], at[kTile];
        for (Index i = 0; i < kWindow; ++i) {
          const Index place = i * kWindow + j;
          column[i] =
              load(filter + ((turned ? kWindow * kWindow - 1 - place : place) * in + c) * out + k);
        }
        filter_to_points<kWindow>(column, at);
        for (Index i = 0; i < kTile; ++i) half[i][j] = at[i];
      }
      for (Index i = 0; i < kTile; ++i) {
        Floats at[kTile];
        filter_to_points<kWindow>(half[i], at);
        for (Index j = 0; j < kTile; ++j)
          store(at_points + ((i * kTile + j) * in + c) * out + k, at[j]);
      }
    }
}

template <int kWindow>
void filter_from_points_of(const float* sums, Index in, Index out, Index first, Index last,
                           float* dfilter) {
  for (Index c = first; c < last; ++c)
    for (Index k = 0; k < out; k += kWidth) {
      Floats half[kWindow][kTile];
      for (Index j = 0; j < kTile; ++j) {
        Floats at[kTile], column[kWindow];
        for (Index i = 0; i < kTile; ++i) at[i] = load(sums + ((i * kTile + j) * in + c) * out + k);
        points_to_filter<kWindow>(at, column);
        for (Index i = 0; i < kWindow; ++i) half[i][j] = column[i];
      }
      for (Index i = 0; i < kWindow; ++i) {
        Floats row[kWindow];
        points_to_filter<kWindow>(half[i], row);
        for (Index j = 0; j < kWindow; ++j)
          store(dfilter + ((i * kWindow + j) * in + c) * out + k, row[j]);
      }
    }
}

void filter_at_points_loop(Index window, bool turned, const float* filter, Index in, Index out,
                           Index first, Index last, float* at_points) {
  (window == 5 ? filter_at_points_of<5> : filter_at_points_of<3>)(turned, filter, in, out, first,
                                                                  last, at_points);
}

void convolve_loop(const ConvGeometry& g, Index first, Index last, const float* x,
                   const float* at_points, const float* bias, bool relu, float* y, float* scratch) {
  (g.rows.window == 5 ? convolve_images<5> : convolve_images<3>)(g, first, last, x, at_points, bias,
                                                                 relu, y, scratch);
}

void filter_gradient_loop(const ConvGeometry& g, Index first, Index last, const float* x,
                          const float* dy, float* sums, float* scratch) {
  (g.rows.window == 5 ? filter_gradient_of<5> : filter_gradient_of<3>)(g, first, last, x, dy, sums,
                                                                       scratch);
}

void filter_from_points_loop(Index window, const float* sums, Index in, Index out, Index first,
                             Index last, float* dfilter) {
  (window == 5 ? filter_from_points_of<5> : filter_from_points_of<3>)(sums, in, out, first, last,
                                                                      dfilter);
}

}  // namespace
}  // namespace towerflow::simd
