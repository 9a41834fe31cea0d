// Resized images [n, height, width, channels].
//
//   Resample_IN_OUT(x, y, s)   each pixel of the result is a weighted sum of rows of weighted sums
//   of
//                              pixels, in the order of ops/image/resample.cc: bilinear, bicubic and
//                              area, their gradients and that of nearest, which differ in their
//                              taps
//   ResizeNearest_BYTES        each pixel of the result is one of the image
#include "cuda/device/arguments.h"
#include "cuda/device/number.cuh"

namespace towerflow::cuda::device {
namespace {

/// Returns pixel column `at` of row `row` resampled to the new width.
template <class Out, class In>
TOWERFLOW_DEVICE Out column_sum(const In* row, const Resampled::Taps& taps, int at, int channels) {
  Out sum = Out(0);
  for (int k = taps.first[at]; k < taps.first[at + 1]; ++k) {
    sum = static_cast<Out>(sum + static_cast<Out>(widen(row[int64{taps.index[k]} * channels])) *
                                     static_cast<Out>(taps.weight[k]));
  }
  return sum;
}

template <class In, class Out>
TOWERFLOW_DEVICE void resample(const In* x, Out* y, const Resampled& s) {
  const int64 n = int64{s.images} * s.new_height * s.new_width * s.channels;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 pixel = i / s.channels, line = pixel / s.new_width, image = line / s.new_height;
    const int channel = static_cast<int>(i - pixel * s.channels);
    const int column = static_cast<int>(pixel - line * s.new_width);
    const int row = static_cast<int>(line - image * s.new_height);
    const In* from = x + image * s.height * s.width * s.channels + channel;
    const int begin = s.rows.first[row], end = s.rows.first[row + 1];
    Out sum = Out(0);
    for (int k = begin; k < end; ++k) {
      const Out value = column_sum<Out>(from + int64{s.rows.index[k]} * s.width * s.channels,
                                        s.columns, column, s.channels) *
                        static_cast<Out>(s.rows.weight[k]);
      sum = k == begin ? value : static_cast<Out>(sum + value);
    }
    y[i] = sum;
  }
}

template <int kBytes>
TOWERFLOW_DEVICE void nearest(const void* x, void* y, const Resampled& s) {
  using E = Word<kBytes>;
  const int64 n = int64{s.images} * s.new_height * s.new_width * s.channels;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const int64 pixel = i / s.channels, line = pixel / s.new_width, image = line / s.new_height;
    const int64 row = s.rows.index[line - image * s.new_height];
    const int64 column = s.columns.index[pixel - line * s.new_width];
    static_cast<E*>(y)[i] = static_cast<const E*>(
        x)[((image * s.height + row) * s.width + column) * s.channels + i - pixel * s.channels];
  }
}

}  // namespace

#define TOWERFLOW_RESAMPLE(in, In, out, Out)                                       \
  TOWERFLOW_KERNEL(Resample_##in##_##out, 256, const In* x, Out* y, Resampled s) { \
    resample(x, y, s);                                                             \
  }
TOWERFLOW_RESAMPLE(float32, float, float32, float)
TOWERFLOW_RESAMPLE(float16, Half, float32, float)
TOWERFLOW_RESAMPLE(float64, double, float32, float)
TOWERFLOW_RESAMPLE(uint8, std::uint8_t, float32, float)
TOWERFLOW_RESAMPLE(int32, std::int32_t, float32, float)
TOWERFLOW_RESAMPLE(int64, int64, float32, float)
TOWERFLOW_RESAMPLE(float32, float, float64, double)
TOWERFLOW_RESAMPLE(float64, double, float64, double)

#define TOWERFLOW_NEAREST(bytes)                                                      \
  TOWERFLOW_KERNEL(ResizeNearest_##bytes, 256, const void* x, void* y, Resampled s) { \
    nearest<bytes>(x, y, s);                                                          \
  }
TOWERFLOW_NEAREST(1)
TOWERFLOW_NEAREST(2)
TOWERFLOW_NEAREST(4)
TOWERFLOW_NEAREST(8)

}  // namespace towerflow::cuda::device
