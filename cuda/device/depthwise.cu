// Depthwise convolutions of NHWC images: result channel c * multiplier + j is the correlation of
// channel c with its filter j. All sums are in a fixed order.
//
//   DepthwiseConv_T(x, filter, y, s)
//   DepthwiseConvGradInput_T(dy, filter, dx, s)
//   DepthwiseConvGradFilter_T(x, dy, df, s)  df [parts, filter]: blocks of 256 threads; grid.x:
//   tiles
//                                 of 256 result channels, grid.y: places of the filter, grid.z:
//                                 parts, which Sum_columns adds up
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

using Axis = DepthwiseShape::Axis;

/// Returns the pixel that a place of the filter sees for a place of the result; maybe outside.
TOWERFLOW_DEVICE int pixel_of(const Axis& axis, int result, int place) {
  return result * axis.stride - axis.pad_before + place * axis.dilation;
}
TOWERFLOW_DEVICE bool is_inside(const Axis& axis, int pixel) {
  return pixel >= 0 && pixel < axis.input;
}
/// Returns the place of the result that sees a pixel at a place of the filter, or -1.
TOWERFLOW_DEVICE int result_of(const Axis& axis, int pixel, int place) {
  const int from = pixel + axis.pad_before - place * axis.dilation;
  if (from < 0 || from % axis.stride != 0) return -1;
  return from / axis.stride < axis.output ? from / axis.stride : -1;
}

template <class T>
TOWERFLOW_DEVICE void forward(const T* x, const T* filter, T* y, const DepthwiseShape& s) {
  const int results = s.channels * s.multiplier;
  const int64 n = int64{s.batch} * s.rows.output * s.columns.output * results;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 pixel = i / results, line = pixel / s.columns.output, image = line / s.rows.output;
    const int channel = static_cast<int>(i - pixel * results), in = channel / s.multiplier;
    const int q = static_cast<int>(pixel - line * s.columns.output);
    const int p = static_cast<int>(line - image * s.rows.output);
    Compute<T> sum = 0;
    for (int r = 0; r < s.rows.filter; ++r) {
      const int h = pixel_of(s.rows, p, r);
      if (!is_inside(s.rows, h)) continue;
      for (int t = 0; t < s.columns.filter; ++t) {
        const int w = pixel_of(s.columns, q, t);
        if (!is_inside(s.columns, w)) continue;
        const int64 from = ((image * s.rows.input + h) * s.columns.input + w) * s.channels + in;
        sum +=
            widen(x[from]) * widen(filter[(int64{r} * s.columns.filter + t) * results + channel]);
      }
    }
    y[i] = narrow<T>(sum);
  }
}

template <class T>
TOWERFLOW_DEVICE void grad_input(const T* dy, const T* filter, T* dx, const DepthwiseShape& s) {
  const int results = s.channels * s.multiplier;
  const int64 n = int64{s.batch} * s.rows.input * s.columns.input * s.channels;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 pixel = i / s.channels, line = pixel / s.columns.input, image = line / s.rows.input;
    const int first = static_cast<int>(i - pixel * s.channels) * s.multiplier;
    const int w = static_cast<int>(pixel - line * s.columns.input);
    const int h = static_cast<int>(line - image * s.rows.input);
    Compute<T> sum = 0;
    for (int r = 0; r < s.rows.filter; ++r) {
      const int p = result_of(s.rows, h, r);
      if (p < 0) continue;
      for (int t = 0; t < s.columns.filter; ++t) {
        const int q = result_of(s.columns, w, t);
        if (q < 0) continue;
        const T* slopes =
            dy + ((image * s.rows.output + p) * s.columns.output + q) * results + first;
        const T* weights = filter + (int64{r} * s.columns.filter + t) * results + first;
        for (int j = 0; j < s.multiplier; ++j) sum += widen(slopes[j]) * widen(weights[j]);
      }
    }
    dx[i] = narrow<T>(sum);
  }
}

template <class T>
using BlockNumbers = T[kGroupBlock];

/// Each of `tile` neighbouring threads takes a channel; if there are fewer than the block has
/// threads, they take several pixels at once, and their sums join in the order of the threads.
template <class T>
TOWERFLOW_DEVICE void grad_filter(const T* x, const T* dy, Compute<T>* df,
                                  const DepthwiseShape& s) {
  using C = Compute<T>;
  TOWERFLOW_SHARED(BlockNumbers<C>, shared);
  const int results = s.channels * s.multiplier, thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * kGroupBlock;
  const int tile = smaller(results - first, kGroupBlock), at_once = kGroupBlock / tile;
  const int channel = first + thread % tile, line = thread / tile;
  const int place = static_cast<int>(blockIdx.y);
  const int r = place / s.columns.filter, t = place % s.columns.filter;
  const int64 n = int64{s.batch} * s.rows.output * s.columns.output;
  const int64 most = (n + gridDim.z - 1) / gridDim.z;
  const int64 begin = smaller(blockIdx.z * most, n), end = smaller(begin + most, n);
  C sum = 0;
  for (int64 i = begin + line; line < at_once && i < end; i += at_once) {
    const int64 row = i / s.columns.output, image = row / s.rows.output;
    const int h = pixel_of(s.rows, static_cast<int>(row - image * s.rows.output), r);
    const int w = pixel_of(s.columns, static_cast<int>(i - row * s.columns.output), t);
    if (!is_inside(s.rows, h) || !is_inside(s.columns, w)) continue;
    const int64 from =
        ((image * s.rows.input + h) * s.columns.input + w) * s.channels + channel / s.multiplier;
    sum += widen(x[from]) * widen(dy[i * results + channel]);
  }
  shared[thread] = sum;
  __syncthreads();
  if (line > 0) return;
  for (int k = 1; k < at_once; ++k) sum += shared[k * tile + thread];
  df[(int64{blockIdx.z} * gridDim.y + place) * results + channel] = sum;
}

}  // namespace

#define TOWERFLOW_DEPTHWISE(name, T)                                                              \
  TOWERFLOW_KERNEL(DepthwiseConv_##name, 256, const T* x, const T* filter, T* y,                  \
                   DepthwiseShape s) {                                                            \
    forward(x, filter, y, s);                                                                     \
  }                                                                                               \
  TOWERFLOW_KERNEL(DepthwiseConvGradInput_##name, 256, const T* dy, const T* filter, T* dx,       \
                   DepthwiseShape s) {                                                            \
    grad_input(dy, filter, dx, s);                                                                \
  }                                                                                               \
  TOWERFLOW_MEETING_KERNEL(DepthwiseConvGradFilter_##name, 256, sizeof(BlockNumbers<Compute<T>>), \
                           const T* x, const T* dy, Compute<T>* df, DepthwiseShape s) {           \
    grad_filter(x, dy, df, s);                                                                    \
  }

TOWERFLOW_DEPTHWISE(float32, float)
TOWERFLOW_DEPTHWISE(float64, double)
TOWERFLOW_DEPTHWISE(float16, Half)
TOWERFLOW_DEPTHWISE(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
