#pragma once

// Reductions over the threads of a warp or of a block, in a fixed order.

#include "cuda/device/functors.cuh"

namespace towerflow::cuda::device {

/// Threads of a block of the kernels that reduce.
inline constexpr int kGroupBlock = 256;
inline constexpr unsigned kAllLanes = 0xffffffffU;

template <class T>
struct Sum {
  TOWERFLOW_DEVICE static T start() { return T(0); }
  TOWERFLOW_DEVICE static T join(T a, T b) { return AddV2()(a, b); }
};
template <class T>
struct Prod {
  TOWERFLOW_DEVICE static T start() { return T(1); }
  TOWERFLOW_DEVICE static T join(T a, T b) { return Mul()(a, b); }
};
template <class T>
struct Max {
  TOWERFLOW_DEVICE static T start() {
    if constexpr (kIsFloat<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  TOWERFLOW_DEVICE static T join(T a, T b) { return Maximum()(a, b); }
};
template <class T>
struct Min {
  TOWERFLOW_DEVICE static T start() {
    if constexpr (kIsFloat<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  TOWERFLOW_DEVICE static T join(T a, T b) { return Minimum()(a, b); }
};
template <class T>
struct All {
  TOWERFLOW_DEVICE static T start() { return true; }
  TOWERFLOW_DEVICE static T join(T a, T b) { return a && b; }
};
template <class T>
struct Any {
  TOWERFLOW_DEVICE static T start() { return false; }
  TOWERFLOW_DEVICE static T join(T a, T b) { return a || b; }
};

/// One number of each warp of a block.
template <class T>
using WarpNumbers = T[kGroupBlock / 32];

/// Returns the reduction over the warp, the same in all lanes. The lanes join in pairs, so that a
/// pair has the same bits whichever of both computes it.
template <class R, class T>
TOWERFLOW_DEVICE T reduce_warp(T value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(kAllLanes, value, distance);
    value = (threadIdx.x & static_cast<unsigned>(distance)) == 0 ? R::join(value, other)
                                                                 : R::join(other, value);
  }
  return value;
}

/// Threads that work on a row together: one, a warp, or the whole block of kGroupBlock threads.
struct RowGroup {
  int size;    // 1, 32 or kGroupBlock; only the others reduce
  int thread;  // number of this thread in it
  int64 row;   // of this group
  int64 rows_at_once;

  TOWERFLOW_DEVICE explicit RowGroup(int threads)
      : size(threads),
        thread(static_cast<int>(threadIdx.x) & (threads - 1)),
        row(grid_thread() >> shift(threads)),
        rows_at_once(grid_threads() >> shift(threads)) {}
  TOWERFLOW_DEVICE static int shift(int threads) {
    return threads == 1 ? 0 : threads == 32 ? 5 : 8;
  }

  /// Returns the reduction over the group, the same in all of its threads.
  template <class R, class T>
  TOWERFLOW_DEVICE T reduce(T value, WarpNumbers<T>& shared) const {
    value = reduce_warp<R>(value);
    if (size == 32) return value;
    __syncthreads();  // the numbers of the last reduction have been read
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    T total = shared[0];
    for (int i = 1; i < kGroupBlock / 32; ++i) total = R::join(total, shared[i]);
    return total;
  }
};

}  // namespace towerflow::cuda::device
