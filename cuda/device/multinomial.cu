// Samples of classes (Multinomial), with the random numbers and in the order of
// ops/random/multinomial.cc, in three launches:
//
//   MultinomialWeights_T     logits [batch, classes] -> weights: exp(logit - the largest), 0 for
//                            those that are not finite; a block of 256 threads a row
//   Cumsum_columns_float64   weights -> sums, in the order of the CPU (or _rows_, for long rows)
//   MultinomialDraw_INDEX    sums -> y [batch, samples]
#include "cuda/device/group.cuh"
#include "cuda/device/philox.cuh"
#include "ops/random/box_muller.h"

namespace towerflow::cuda::device {
namespace {

template <class T>
TOWERFLOW_DEVICE void weights(const T* logits, double* y, int64 batch, int64 classes) {
  using C = Compute<T>;
  TOWERFLOW_SHARED(WarpNumbers<C>, shared);
  const RowGroup block(kGroupBlock);
  for (int64 row = blockIdx.x; row < batch; row += gridDim.x) {
    C largest = lowest<C>();
    for (int64 j = threadIdx.x; j < classes; j += kGroupBlock) {
      const C logit = widen(logits[row * classes + j]);
      if (IsFinite()(logit)) largest = larger(largest, logit);
    }
    largest = block.template reduce<Max<C>>(largest, shared);
    for (int64 j = threadIdx.x; j < classes; j += kGroupBlock) {
      const C logit = widen(logits[row * classes + j]);
      y[row * classes + j] =
          IsFinite()(logit) ? std::exp(static_cast<double>(logit) - static_cast<double>(largest))
                            : 0.0;
    }
  }
}

template <class Index>
TOWERFLOW_DEVICE void draw(const std::uint64_t* state, const double* sums, Index* y, int64 batch,
                           int64 classes, int64 samples) {
  for (int64 i = grid_thread(); i < batch * samples; i += grid_threads()) {
    // A sample takes two words of the stream.
    Stream stream(state, static_cast<std::uint64_t>(i / 2));
    const Words words = stream.next();
    const double uniform = i % 2 == 0 ? random::unit_double(words.w[0], words.w[1])
                                      : random::unit_double(words.w[2], words.w[3]);
    const double* row = sums + i / samples * classes;
    const double wanted = classes == 0 ? 0.0 : uniform * row[classes - 1];
    int64 low = 0, high = classes;  // the first sum above what is wanted is in [low, high]
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if (wanted < row[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    y[i] = static_cast<Index>(low);
  }
}

}  // namespace

#define TOWERFLOW_WEIGHTS(name, T)                                                          \
  TOWERFLOW_MEETING_KERNEL(MultinomialWeights_##name, 256, sizeof(WarpNumbers<Compute<T>>), \
                           const T* logits, double* y, int64 batch, int64 classes) {        \
    weights(logits, y, batch, classes);                                                     \
  }
#define TOWERFLOW_DRAW(name, Index)                                                             \
  TOWERFLOW_KERNEL(MultinomialDraw_##name, 256, const std::uint64_t* state, const double* sums, \
                   Index* y, int64 batch, int64 classes, int64 samples) {                       \
    draw(state, sums, y, batch, classes, samples);                                              \
  }

TOWERFLOW_WEIGHTS(float32, float)
TOWERFLOW_WEIGHTS(float64, double)
TOWERFLOW_WEIGHTS(float16, Half)
TOWERFLOW_WEIGHTS(bfloat16, BFloat16)
TOWERFLOW_DRAW(int32, std::int32_t)
TOWERFLOW_DRAW(int64, int64)

}  // namespace towerflow::cuda::device
