// Pooling of NHWC images, in the order of the CPU's loops (ops/reference/pool.h), so that results
// have the same bits. A thread computes neighbouring channels: a pack if `packed`, which wants
// channels that are a multiple of it and aligned addresses.
//
//   MaxPool_T(x, y, index, ..)       y or index may be null; index: the place in its window of the
//                                    first largest element, kNone for a window outside of the image
//   MaxPoolArgmax_T_INDEX(x, index, y, places, ..)   of MaxPoolWithArgmax: the elements that the
//                                    index names, and their places in the image or the whole batch
//   MaxPoolGrad_T(index, dy, dx, ..)
//   MaxPoolReluGrad_T(index, dy, x, dx, ..)   followed by ReluGrad, where x came out of a Relu
//   MaxPoolGradGrad_T(index, ddx, ddy, ..)
//   AvgPool_T(x, y, ..), AvgPoolGrad_T(dy, dx, ..)
#include "cuda/device/arguments.h"
#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {
namespace {

using Index = std::uint16_t;
constexpr Index kNone = 0xffff;

/// Where a thread works: an image, a row, a column and the first of its channels.
struct Place {
  int image, row, column, channel;
  TOWERFLOW_DEVICE Place(int64 unit, int rows, int columns, int channel_units, int pack) {
    const auto outer = unit / channel_units;
    channel = static_cast<int>(unit - outer * channel_units) * pack;
    const auto line = outer / columns;
    column = static_cast<int>(outer - line * columns);
    image = static_cast<int>(line / rows);
    row = static_cast<int>(line - int64{image} * rows);
  }
};

/// The pixels of window number `at` inside the image: [begin, end).
struct Inside {
  int begin, end, first;  // first: where the window begins, maybe outside
  TOWERFLOW_DEVICE Inside(const PoolShape::Axis& axis, int at) {
    first = at * axis.stride - axis.pad_before;
    begin = larger(first, 0);
    end = smaller(first + axis.window, axis.input);
  }
  TOWERFLOW_DEVICE int count() const { return larger(end - begin, 0); }
};

/// The windows that contain a pixel: [begin, end).
struct Windows {
  int begin, end;
  TOWERFLOW_DEVICE Windows(const PoolShape::Axis& axis, int pixel) {
    const int last = pixel + axis.pad_before;
    begin = last < axis.window ? 0 : (last - axis.window) / axis.stride + 1;
    end = smaller(last / axis.stride + 1, axis.output);
  }
};

/// Calls `f(place, offset)` for the units of an array of images of rows x columns pixels.
template <int kPack, class F>
TOWERFLOW_DEVICE void for_places(const PoolShape& s, int rows, int columns, F f) {
  const int units = s.channels / kPack;
  const int64 n = int64{s.batch} * rows * columns * units;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    f(Place(i, rows, columns, units, kPack), i * kPack);
  }
}

TOWERFLOW_DEVICE int64 input_at(const PoolShape& s, const Place& at, int h, int w) {
  return ((int64{at.image} * s.rows.input + h) * s.columns.input + w) * s.channels + at.channel;
}
TOWERFLOW_DEVICE int64 output_at(const PoolShape& s, const Place& at, int p, int q) {
  return ((int64{at.image} * s.rows.output + p) * s.columns.output + q) * s.channels + at.channel;
}

template <int kPack, class T>
TOWERFLOW_DEVICE void max_pool(const T* x, T* y, Index* index, const PoolShape& s) {
  using C = Compute<T>;
  for_places<kPack>(s, s.rows.output, s.columns.output, [=](const Place& at, int64 out) {
    const Inside rows(s.rows, at.row), columns(s.columns, at.column);
    // The largest value, which NaN never is, and the place of the first largest, which a NaN that
    // comes first keeps.
    Pack<C, kPack> largest, first;
    Pack<Index, kPack> place;
    for (int k = 0; k < kPack; ++k) {
      largest.v[k] = lowest<T>();
      place.v[k] = kNone;
      first.v[k] = C(0);
    }
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Pack<T, kPack> in = load_pack<kPack>(x + input_at(s, at, h, w));
        const auto here =
            static_cast<Index>((h - rows.first) * s.columns.window + w - columns.first);
        for (int k = 0; k < kPack; ++k) {
          const C value = widen(in.v[k]);
          if (value > largest.v[k]) largest.v[k] = value;
          if (place.v[k] == kNone || first.v[k] < value) {
            place.v[k] = here;
            first.v[k] = value;
          }
        }
      }
    }
    if (y != nullptr) {
      Pack<T, kPack> result;
      for (int k = 0; k < kPack; ++k) result.v[k] = narrow<T>(largest.v[k]);
      store_pack<kPack>(y + out, result);
    }
    if (index != nullptr) store_pack<kPack>(index + out, place);
  });
}

template <int kPack, bool kRelu, class T>
TOWERFLOW_DEVICE void max_pool_grad(const Index* index, const T* dy, [[maybe_unused]] const T* relu,
                                    T* dx, const PoolShape& s) {
  for_places<kPack>(s, s.rows.input, s.columns.input, [=](const Place& at, int64 out) {
    const Windows rows(s.rows, at.row), columns(s.columns, at.column);
    Pack<Compute<T>, kPack> sum{};
    for (int p = rows.begin; p < rows.end; ++p) {
      for (int q = columns.begin; q < columns.end; ++q) {
        const int64 from = output_at(s, at, p, q);
        const int h = at.row - (p * s.rows.stride - s.rows.pad_before);
        const int w = at.column - (q * s.columns.stride - s.columns.pad_before);
        const auto here = static_cast<Index>(h * s.columns.window + w);
        const Pack<Index, kPack> place = load_pack<kPack>(index + from);
        const Pack<T, kPack> in = load_pack<kPack>(dy + from);
        for (int k = 0; k < kPack; ++k) {
          if (place.v[k] == here) sum.v[k] += widen(in.v[k]);
        }
      }
    }
    if constexpr (kRelu) {
      const Pack<T, kPack> in = load_pack<kPack>(relu + out);
      for (int k = 0; k < kPack; ++k) sum.v[k] = ReluGrad()(sum.v[k], widen(in.v[k]));
    }
    Pack<T, kPack> result;
    for (int k = 0; k < kPack; ++k) result.v[k] = narrow<T>(sum.v[k]);
    store_pack<kPack>(dx + out, result);
  });
}

template <class T>
TOWERFLOW_DEVICE void max_pool_grad_grad(const Index* index, const T* ddx, T* ddy,
                                         const PoolShape& s) {
  for_places<1>(s, s.rows.output, s.columns.output, [=](const Place& at, int64 out) {
    const int place = index[out];
    const int h = at.row * s.rows.stride - s.rows.pad_before + place / s.columns.window;
    const int w = at.column * s.columns.stride - s.columns.pad_before + place % s.columns.window;
    ddy[out] = place == kNone ? T{} : ddx[input_at(s, at, h, w)];
  });
}

template <class T, class Result>
TOWERFLOW_DEVICE void max_pool_argmax(const T* x, const Index* index, T* y, Result* places,
                                      int with_batch, const PoolShape& s) {
  for_places<1>(s, s.rows.output, s.columns.output, [=](const Place& at, int64 out) {
    const int place = index[out];
    const int h = at.row * s.rows.stride - s.rows.pad_before + place / s.columns.window;
    const int w = at.column * s.columns.stride - s.columns.pad_before + place % s.columns.window;
    const int64 from = place == kNone ? 0 : input_at(s, at, h, w);
    const int64 image = int64{at.image} * s.rows.input * s.columns.input * s.channels;
    y[out] = place == kNone ? T{} : x[from];
    places[out] = static_cast<Result>(place == kNone || with_batch != 0 ? from : from - image);
  });
}

template <int kPack, class T>
TOWERFLOW_DEVICE void avg_pool(const T* x, T* y, const PoolShape& s) {
  using C = Compute<T>;
  for_places<kPack>(s, s.rows.output, s.columns.output, [=](const Place& at, int64 out) {
    const Inside rows(s.rows, at.row), columns(s.columns, at.column);
    Pack<C, kPack> sum{};
    for (int h = rows.begin; h < rows.end; ++h) {
      for (int w = columns.begin; w < columns.end; ++w) {
        const Pack<T, kPack> in = load_pack<kPack>(x + input_at(s, at, h, w));
        for (int k = 0; k < kPack; ++k) sum.v[k] += widen(in.v[k]);
      }
    }
    const int count = rows.count() * columns.count();
    Pack<T, kPack> result;
    for (int k = 0; k < kPack; ++k) {
      result.v[k] = narrow<T>(count == 0 ? C(0) : sum.v[k] / static_cast<C>(count));
    }
    store_pack<kPack>(y + out, result);
  });
}

template <int kPack, class T>
TOWERFLOW_DEVICE void avg_pool_grad(const T* dy, T* dx, const PoolShape& s) {
  using C = Compute<T>;
  for_places<kPack>(s, s.rows.input, s.columns.input, [=](const Place& at, int64 out) {
    const Windows rows(s.rows, at.row), columns(s.columns, at.column);
    Pack<C, kPack> sum{};
    for (int p = rows.begin; p < rows.end; ++p) {
      for (int q = columns.begin; q < columns.end; ++q) {
        const int count = Inside(s.rows, p).count() * Inside(s.columns, q).count();
        const Pack<T, kPack> in = load_pack<kPack>(dy + output_at(s, at, p, q));
        for (int k = 0; k < kPack; ++k) sum.v[k] += widen(in.v[k]) / static_cast<C>(count);
      }
    }
    Pack<T, kPack> result;
    for (int k = 0; k < kPack; ++k) result.v[k] = narrow<T>(sum.v[k]);
    store_pack<kPack>(dx + out, result);
  });
}

}  // namespace

#define TOWERFLOW_POOLS(name, T)                                                                  \
  TOWERFLOW_KERNEL(MaxPool_##name, 256, const T* x, T* y, std::uint16_t* index, PoolShape s,      \
                   int packed) {                                                                  \
    packed != 0 ? max_pool<kPackOf<T>>(x, y, index, s) : max_pool<1>(x, y, index, s);             \
  }                                                                                               \
  TOWERFLOW_KERNEL(MaxPoolGrad_##name, 256, const std::uint16_t* index, const T* dy, T* dx,       \
                   PoolShape s, int packed) {                                                     \
    const T* none = nullptr;                                                                      \
    packed != 0 ? max_pool_grad<kPackOf<T>, false>(index, dy, none, dx, s)                        \
                : max_pool_grad<1, false>(index, dy, none, dx, s);                                \
  }                                                                                               \
  TOWERFLOW_KERNEL(MaxPoolReluGrad_##name, 256, const std::uint16_t* index, const T* dy,          \
                   const T* x, T* dx, PoolShape s, int packed) {                                  \
    packed != 0 ? max_pool_grad<kPackOf<T>, true>(index, dy, x, dx, s)                            \
                : max_pool_grad<1, true>(index, dy, x, dx, s);                                    \
  }                                                                                               \
  TOWERFLOW_KERNEL(MaxPoolGradGrad_##name, 256, const std::uint16_t* index, const T* ddx, T* ddy, \
                   PoolShape s) {                                                                 \
    max_pool_grad_grad(index, ddx, ddy, s);                                                       \
  }                                                                                               \
  TOWERFLOW_KERNEL(MaxPoolArgmax_##name##_int32, 256, const T* x, const std::uint16_t* index,     \
                   T* y, std::int32_t* places, int with_batch, PoolShape s) {                     \
    max_pool_argmax(x, index, y, places, with_batch, s);                                          \
  }                                                                                               \
  TOWERFLOW_KERNEL(MaxPoolArgmax_##name##_int64, 256, const T* x, const std::uint16_t* index,     \
                   T* y, int64* places, int with_batch, PoolShape s) {                            \
    max_pool_argmax(x, index, y, places, with_batch, s);                                          \
  }                                                                                               \
  TOWERFLOW_KERNEL(AvgPool_##name, 256, const T* x, T* y, PoolShape s, int packed) {              \
    packed != 0 ? avg_pool<kPackOf<T>>(x, y, s) : avg_pool<1>(x, y, s);                           \
  }                                                                                               \
  TOWERFLOW_KERNEL(AvgPoolGrad_##name, 256, const T* dy, T* dx, PoolShape s, int packed) {        \
    packed != 0 ? avg_pool_grad<kPackOf<T>>(dy, dx, s) : avg_pool_grad<1>(dy, dx, s);             \
  }

TOWERFLOW_POOLS(float32, float)
TOWERFLOW_POOLS(float64, double)
TOWERFLOW_POOLS(float16, Half)
TOWERFLOW_POOLS(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
