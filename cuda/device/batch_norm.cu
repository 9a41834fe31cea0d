// Batch normalisation (FusedBatchNormV3 and its gradient) in a fixed order, with the formulas of
// ops/nn/fused_batch_norm_cpu.cc: sums in double, statistics and parameters in float32. Images are
// [outer, channels, inner], where inner is 1 if channels come last.
//
//   BatchNormSums_T      x -> sums [parts, 2, channels]: of x and of its squares
//   BatchNormStatistics  sums -> what the op returns, and the factor of each channel
//   BatchNormApply_T     y = (x - mean) factor + offset
//   BatchNormGradSums_T  dy, x, mean -> sums [parts, 2, channels]: of dy and of dy (x - mean)
//   BatchNormGradStatistics, BatchNormGradApply_T: the same for the gradient
//
// The kernels of sums have blocks of 256 threads; grid.x: tiles of 256 channels if inner is 1, else
// channels; grid.y: parts.
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

struct Sums {
  double first, second;
};
using SharedSums = Sums[kGroupBlock];

/// What is added up of an element: x and x^2, or dy and dy (x - mean). The mean of the batch is not
/// known in the first case, so that x is taken relative to the first element of its channel.
template <class T>
struct Moments {
  const T* x;
  const float* shift;
  TOWERFLOW_DEVICE Sums operator()(int64 at, int channel) const {
    const double value = static_cast<double>(widen(x[at])) - static_cast<double>(shift[channel]);
    return {value, value * value};
  }
};
template <class T>
struct GradientSums {
  const T *dy, *x;
  const float* mean;
  TOWERFLOW_DEVICE Sums operator()(int64 at, int channel) const {
    const auto slope = static_cast<double>(widen(dy[at]));
    return {slope, slope * static_cast<double>(widen(x[at]) - mean[channel])};
  }
};

TOWERFLOW_DEVICE void add(Sums& to, const Sums& more) {
  to.first += more.first;
  to.second += more.second;
}

/// Adds up one channel for each of `tile` threads, or of the block: the threads with equal
/// threadIdx.x % tile join in the order of their numbers.
template <class F>
TOWERFLOW_DEVICE void add_up(const ChannelShape& s, double* sums, F f) {
  TOWERFLOW_SHARED(SharedSums, shared);
  const int thread = static_cast<int>(threadIdx.x);
  const bool last = s.inner == 1;  // channels are the innermost dimension
  const int first = static_cast<int>(blockIdx.x) * (last ? kGroupBlock : 1);
  const int tile = last ? smaller(s.channels - first, kGroupBlock) : 1;
  const int at_once = kGroupBlock / tile, row = thread / tile, channel = first + thread % tile;
  const int64 n = s.outer * s.inner, most = (n + gridDim.y - 1) / gridDim.y;
  const int64 begin = smaller(blockIdx.y * most, n), end = smaller(begin + most, n);
  Sums own{0, 0};
  for (int64 i = begin + row; row < at_once && i < end; i += at_once) {
    const int64 outer = last ? i : i / s.inner;
    add(own,
        f((outer * s.channels + channel) * s.inner + (last ? 0 : i - outer * s.inner), channel));
  }
  shared[thread] = own;
  __syncthreads();
  if (last) {
    if (row > 0) return;
    for (int r = 1; r < at_once; ++r) add(own, shared[r * tile + thread]);
  } else {
    for (int half = kGroupBlock / 2; half > 0; half /= 2) {
      if (thread < half) add(shared[thread], shared[thread + half]);
      __syncthreads();
    }
    if (thread > 0) return;
    own = shared[0];
  }
  double* to = sums + int64{blockIdx.y} * 2 * s.channels;
  to[channel] = own.first;
  to[s.channels + channel] = own.second;
}

TOWERFLOW_DEVICE Sums total_of(const double* sums, int parts, int channels, int channel) {
  Sums total{0, 0};
  for (int part = 0; part < parts; ++part) {
    const double* from = sums + int64{part} * 2 * channels + channel;
    add(total, {from[0], from[channels]});
  }
  return total;
}

/// Calls `f(first element, channel of it, pack of the input)` for all elements: packs of neighbours
/// that belong to neighbouring channels (inner 1, channels a multiple) or to one channel (inner a
/// multiple), single ones if not `packed`.
template <int kPack, class F>
TOWERFLOW_DEVICE void for_elements(const ChannelShape& s, F f) {
  const auto units = static_cast<int64>(s.outer) * s.channels * s.inner / kPack;
  for (int64 i = grid_thread(); i < units; i += grid_threads()) {
    const int64 at = i * kPack;
    const int64 row = s.inner == 1 ? at : at / s.inner;
    f(at, static_cast<int>(row % s.channels));
  }
}

template <int kPack, class T>
TOWERFLOW_DEVICE void apply(const T* x, const float* mean, const float* factor, const float* offset,
                            T* y, const ChannelShape& s) {
  for_elements<kPack>(s, [=](int64 at, int channel) {
    const Pack<T, kPack> in = load_pack<kPack>(x + at);
    Pack<T, kPack> out;
    for (int k = 0; k < kPack; ++k) {
      const int c = s.inner == 1 ? channel + k : channel;
      out.v[k] = narrow<T>((widen(in.v[k]) - mean[c]) * factor[c] + offset[c]);
    }
    store_pack<kPack>(y + at, out);
  });
}

/// The rows of `params`: mean, shift, slope, factor.
template <int kPack, class T>
TOWERFLOW_DEVICE void apply_grad(const T* dy, const T* x, const float* params, T* dx,
                                 const ChannelShape& s) {
  for_elements<kPack>(s, [=](int64 at, int channel) {
    const Pack<T, kPack> slope = load_pack<kPack>(dy + at), in = load_pack<kPack>(x + at);
    Pack<T, kPack> out;
    for (int k = 0; k < kPack; ++k) {
      const float* p = params + (s.inner == 1 ? channel + k : channel);
      const float mean = p[0], shift = p[s.channels], by = p[2 * s.channels];
      // In inference the gradient does not depend on x, which may be NaN: its slope is 0.
      const float through = by == 0 ? 0 : (widen(in.v[k]) - mean) * by;
      out.v[k] = narrow<T>((widen(slope.v[k]) - shift - through) * p[3 * s.channels]);
    }
    store_pack<kPack>(dx + at, out);
  });
}

}  // namespace

/// shift[c] = the first element of channel c.
#define TOWERFLOW_BATCH_NORM(name, T)                                                              \
  TOWERFLOW_KERNEL(BatchNormShift_##name, 256, const T* x, float* shift, ChannelShape s) {         \
    for (int64 c = grid_thread(); c < s.channels; c += grid_threads()) {                           \
      shift[c] = widen(x[c * s.inner]);                                                            \
    }                                                                                              \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(BatchNormSums_##name, 256, sizeof(SharedSums), const T* x,              \
                           const float* shift, double* sums, ChannelShape s) {                     \
    add_up(s, sums, Moments<T>{x, shift});                                                         \
  }                                                                                                \
  TOWERFLOW_KERNEL(BatchNormApply_##name, 256, const T* x, const float* mean, const float* factor, \
                   const float* offset, T* y, ChannelShape s, int packed) {                        \
    packed != 0 ? apply<kPackOf<T>>(x, mean, factor, offset, y, s)                                 \
                : apply<1>(x, mean, factor, offset, y, s);                                         \
  }                                                                                                \
  TOWERFLOW_MEETING_KERNEL(BatchNormGradSums_##name, 256, sizeof(SharedSums), const T* dy,         \
                           const T* x, const float* mean, double* sums, ChannelShape s) {          \
    add_up(s, sums, GradientSums<T>{dy, x, mean});                                                 \
  }                                                                                                \
  TOWERFLOW_KERNEL(BatchNormGradApply_##name, 256, const T* dy, const T* x, const float* params,   \
                   T* dx, ChannelShape s, int packed) {                                            \
    packed != 0 ? apply_grad<kPackOf<T>>(dy, x, params, dx, s)                                     \
                : apply_grad<1>(dy, x, params, dx, s);                                             \
  }

TOWERFLOW_BATCH_NORM(float32, float)
TOWERFLOW_BATCH_NORM(float16, Half)
TOWERFLOW_BATCH_NORM(bfloat16, BFloat16)

/// The statistics of the batch from its sums, or, if `sums` is null, the running ones. The old
/// running statistics are read only where they are used.
TOWERFLOW_KERNEL(BatchNormStatistics, 256, const double* sums, int parts, const float* shift,
                 BatchNormParameters p, ChannelShape s) {
  const auto n = static_cast<double>(s.outer * s.inner);
  for (int64 i = grid_thread(); i < s.channels; i += grid_threads()) {
    const int c = static_cast<int>(i);
    float mean, variance;
    if (sums == nullptr) {
      p.running_mean[c] = mean = p.old_mean[c];
      p.running_variance[c] = variance = p.old_variance[c];
    } else if (n == 0) {
      mean = variance = 0;
      p.running_mean[c] = p.running_variance[c] = std::numeric_limits<float>::quiet_NaN();
    } else {
      const Sums total = total_of(sums, parts, s.channels, c);
      const double shifted = total.first / n;
      const double squares = larger(total.second - total.first * shifted, 0.0);
      mean = static_cast<float>(static_cast<double>(shift[c]) + shifted);
      variance = static_cast<float>(squares / n);
      float running = mean;
      auto running_variance = static_cast<float>(squares / larger(n - 1, 1.0));
      if (p.weight != 1) {
        running = (1 - p.weight) * p.old_mean[c] + p.weight * running;
        running_variance = (1 - p.weight) * p.old_variance[c] + p.weight * running_variance;
      }
      p.running_mean[c] = running;
      p.running_variance[c] = running_variance;
    }
    p.mean[c] = mean;
    p.variance[c] = variance;
    p.factor[c] = p.scale[c] / std::sqrt(variance + p.epsilon);
  }
}

/// The gradients of scale and offset, and the parameters of BatchNormGradApply.
TOWERFLOW_KERNEL(BatchNormGradStatistics, 256, const double* sums, int parts, const float* mean,
                 const float* variance, const float* scale, float* dscale, float* doffset,
                 float* params, float epsilon, int is_training, ChannelShape s) {
  const auto n = static_cast<double>(s.outer * s.inner);
  for (int64 i = grid_thread(); i < s.channels; i += grid_threads()) {
    const int c = static_cast<int>(i);
    const Sums total = total_of(sums, parts, s.channels, c);
    const float root = 1 / std::sqrt(variance[c] + epsilon);
    const auto r = static_cast<double>(root);
    dscale[c] = static_cast<float>(total.second * r);
    doffset[c] = static_cast<float>(total.first);
    params[c] = is_training != 0 ? mean[c] : 0;
    params[s.channels + c] = is_training != 0 ? static_cast<float>(total.first / n) : 0;
    params[2 * s.channels + c] =
        is_training != 0 ? static_cast<float>(total.second / n * r * r) : 0;
    params[3 * s.channels + c] = root * scale[c];
  }
}

}  // namespace towerflow::cuda::device
