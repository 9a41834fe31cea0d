// Sums of tensors, in their order. A result may be one of the summands.
//
//   AddN_T(list, y, n)   AddN, and the average of towers (_MeanOfN)
//   Average_T(list)      averages of several variables' gradients; a block of 256 threads averages
//                        kAverageChunk elements of one variable
//   L2Loss_T   x [n] -> y [parts]: sums of squares, divided by `divisor`; grid.x is 1, grid.y:
//   parts
//              of 256 threads. Sum_rows adds up more than one part. Of 16-bit numbers y is float
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

/// How tensors are added up, for SumList and AverageList.
template <class T>
struct Summing {
  using C = Compute<T>;
  const void* const* summands;
  const void* const* weights;  // null: all are 1
  int count;
  bool from_zero;
  C divisor;

  template <class List>
  TOWERFLOW_DEVICE Summing(const List& list, const void* const* tensors, int number)
      : summands(tensors),
        weights(list.weighted != 0 ? list.weights : nullptr),
        count(number),
        from_zero(list.from_zero != 0),
        divisor(list.divided_by != nullptr ? *static_cast<const C*>(list.divided_by)
                                           : static_cast<C>(list.divisor)) {}

  template <int kPack>
  TOWERFLOW_DEVICE void add_pack(T* y, int64 at) const {
    Pack<C, kPack> total;
    for (int k = 0; k < kPack; ++k) {
      total.v[k] = C(0);
      if constexpr (kIsFloat<C>) {
        if (!from_zero) total.v[k] = -C(0);  // -0 + x has the bits of x
      }
    }
    for (int i = 0; i < count; ++i) {
      const Pack<T, kPack> in = load_pack<kPack>(static_cast<const T*>(summands[i]) + at);
      const C weight = weights != nullptr ? *static_cast<const C*>(weights[i]) : C(1);
      for (int k = 0; k < kPack; ++k) {
        const C value = widen(in.v[k]);
        total.v[k] = AddV2()(total.v[k], weights != nullptr ? Mul()(value, weight) : value);
      }
    }
    Pack<T, kPack> result;
    for (int k = 0; k < kPack; ++k) {
      if constexpr (kIsFloat<C>) total.v[k] = total.v[k] / divisor;
      result.v[k] = narrow<T>(total.v[k]);
    }
    store_pack<kPack>(y + at, result);
  }

  /// Adds up the elements [begin, end), of which each of `threads` threads takes every next pack.
  TOWERFLOW_DEVICE void add(T* y, int64 begin, int64 end, int64 thread, int64 threads) const {
    constexpr int kPack = kPackOf<T>;
    bool aligned = is_aligned<kPack>(y + begin);
    for (int i = 0; i < count; ++i) {
      aligned &= is_aligned<kPack>(static_cast<const T*>(summands[i]) + begin);
    }
    const int64 packed = aligned ? end - (end - begin) % kPack : begin;
    for (int64 i = begin + thread * kPack; i < packed; i += threads * kPack) add_pack<kPack>(y, i);
    for (int64 i = packed + thread; i < end; i += threads) add_pack<1>(y, i);
  }
};

template <class T>
TOWERFLOW_DEVICE void average(const AverageList& list) {
  // The variable of this block: the last whose first block is not behind it.
  int low = 0, high = list.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (list.variables[middle].first_block <= blockIdx.x ? low : high) = middle;
  }
  const AverageList::Variable& v = list.variables[low];
  const int64 begin = int64{blockIdx.x - v.first_block} * kAverageChunk;
  const int64 end = smaller(begin + kAverageChunk, v.elements);
  Summing<T>(list, v.gradients, list.towers)
      .add(static_cast<T*>(v.average), begin, end, threadIdx.x, blockDim.x);
}

template <class T>
TOWERFLOW_DEVICE void sum_squares(const T* x, Compute<T>* y, int64 n, double divisor) {
  using C = Compute<T>;
  TOWERFLOW_SHARED(WarpNumbers<C>, shared);
  constexpr int kPack = kPackOf<T>;
  const RowGroup block(kGroupBlock);
  const int64 threads = int64{gridDim.y} * kGroupBlock;
  const int64 thread = int64{blockIdx.y} * kGroupBlock + threadIdx.x;
  const int64 packs = is_aligned<kPack>(x) ? n / kPack : 0;
  C total = 0;
  for (int64 i = thread; i < packs; i += threads) {
    const Pack<T, kPack> in = load_pack<kPack>(x + i * kPack);
    for (int k = 0; k < kPack; ++k) total += widen(in.v[k]) * widen(in.v[k]);
  }
  for (int64 i = packs * kPack + thread; i < n; i += threads) total += widen(x[i]) * widen(x[i]);
  total = block.template reduce<Sum<C>>(total, shared);
  if (threadIdx.x == 0) y[blockIdx.y] = total / static_cast<C>(divisor);
}

}  // namespace

#define TOWERFLOW_ADD_N(name, T)                                                             \
  TOWERFLOW_KERNEL(AddN_##name, 256, SumList list, T* y, int64 n) {                          \
    Summing<T>(list, list.summands, list.count).add(y, 0, n, grid_thread(), grid_threads()); \
  }
#define TOWERFLOW_AVERAGE(name, T) \
  TOWERFLOW_KERNEL(Average_##name, 256, AverageList list) { average<T>(list); }
#define TOWERFLOW_L2_LOSS(name, T)                                                          \
  TOWERFLOW_MEETING_KERNEL(L2Loss_##name, 256, sizeof(WarpNumbers<Compute<T>>), const T* x, \
                           Compute<T>* y, int64 n, double divisor) {                        \
    sum_squares(x, y, n, divisor);                                                          \
  }

TOWERFLOW_ADD_N(float32, float)
TOWERFLOW_ADD_N(float64, double)
TOWERFLOW_ADD_N(float16, Half)
TOWERFLOW_ADD_N(bfloat16, BFloat16)
TOWERFLOW_ADD_N(int32, std::int32_t)
TOWERFLOW_ADD_N(int64, int64)
TOWERFLOW_AVERAGE(float32, float)
TOWERFLOW_AVERAGE(float64, double)
TOWERFLOW_AVERAGE(float16, Half)
TOWERFLOW_AVERAGE(bfloat16, BFloat16)
TOWERFLOW_L2_LOSS(float32, float)
TOWERFLOW_L2_LOSS(float64, double)
TOWERFLOW_L2_LOSS(float16, Half)
TOWERFLOW_L2_LOSS(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
