// Sums of tensors, in their order: AddN_T(list, y, n), for AddN and the average of towers. y may be
// one of the summands.
//
//   L2Loss_T   x [n] -> y [parts]: sums of squares, divided by `divisor`; grid.x is 1, grid.y:
//   parts
//              of 256 threads. Sum_rows adds up more than one part. Of 16-bit numbers y is float
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <int kPack, class T>
TOWERFLOW_DEVICE void add_pack(const SumList& list, T* y, int64 at, Compute<T> divisor) {
  using C = Compute<T>;
  Pack<C, kPack> total;
  for (int k = 0; k < kPack; ++k) {
    total.v[k] = C(0);
    if constexpr (kIsFloat<C>) {
      if (list.from_zero == 0) total.v[k] = -C(0);  // -0 + x has the bits of x
    }
  }
  for (int i = 0; i < list.count; ++i) {
    const Pack<T, kPack> in = load_pack<kPack>(static_cast<const T*>(list.summands[i]) + at);
    const C weight = list.weighted != 0 ? *static_cast<const C*>(list.weights[i]) : C(1);
    for (int k = 0; k < kPack; ++k) {
      const C value = widen(in.v[k]);
      total.v[k] = AddV2()(total.v[k], list.weighted != 0 ? Mul()(value, weight) : value);
    }
  }
  Pack<T, kPack> result;
  for (int k = 0; k < kPack; ++k) {
    if constexpr (kIsFloat<C>) total.v[k] = total.v[k] / divisor;
    result.v[k] = narrow<T>(total.v[k]);
  }
  store_pack<kPack>(y + at, result);
}

template <class T>
TOWERFLOW_DEVICE void add_n(const SumList& list, T* y, int64 n) {
  constexpr int kPack = kPackOf<T>;
  using C = Compute<T>;
  const C divisor = list.divided_by != nullptr ? *static_cast<const C*>(list.divided_by)
                                               : static_cast<C>(list.divisor);
  bool aligned = is_aligned<kPack>(y);
  for (int i = 0; i < list.count; ++i) {
    aligned &= is_aligned<kPack>(static_cast<const T*>(list.summands[i]));
  }
  const int64 packs = aligned ? n / kPack : 0;
  for (int64 i = grid_thread(); i < packs; i += grid_threads()) {
    add_pack<kPack>(list, y, i * kPack, divisor);
  }
  for (int64 i = packs * kPack + grid_thread(); i < n; i += grid_threads()) {
    add_pack<1>(list, y, i, divisor);
  }
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

#define TOWERFLOW_ADD_N(name, T) \
  TOWERFLOW_KERNEL(AddN_##name, 256, SumList list, T* y, int64 n) { add_n(list, y, n); }
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
TOWERFLOW_L2_LOSS(float32, float)
TOWERFLOW_L2_LOSS(float64, double)
TOWERFLOW_L2_LOSS(float16, Half)
TOWERFLOW_L2_LOSS(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
