// The places of elements that are not 0, in order (Where), in three launches, since the host has to
// know their number before it can allocate the result:
//
//   WhereCount_T   x [n] -> counts [tiles + 1]: of each tile of kWhereTile elements, then 0; a
//   block
//                  of 256 threads for each tile
//   SortScan       counts -> where the places of each tile begin; the last is their number
//   WherePlaces_T  x, starts -> y [number, rank]: the indices of the elements
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

constexpr int kPerThread = kWhereTile / kGroupBlock;

/// The elements of a thread: neighbours, so that the order of threads is that of elements.
template <class T>
struct Elements {
  bool chosen[kPerThread] = {};
  int64 first;
  int count = 0;
  TOWERFLOW_DEVICE Elements(const T* x, int64 n)
      : first(int64{blockIdx.x} * kWhereTile + int64{threadIdx.x} * kPerThread) {
    for (int k = 0; k < kPerThread && first + k < n; ++k) {
      chosen[k] = widen(x[first + k]) != 0;
      count += chosen[k] ? 1 : 0;
    }
  }
};

template <class T>
TOWERFLOW_DEVICE void count(const T* x, std::uint32_t* counts, int64 n) {
  TOWERFLOW_SHARED(WarpNumbers<int>, shared);
  const Elements<T> own(x, n);
  const int total = RowGroup(kGroupBlock).reduce<Sum<int>>(own.count, shared);
  if (threadIdx.x != 0) return;
  counts[blockIdx.x] = static_cast<std::uint32_t>(total);
  if (blockIdx.x + 1 == gridDim.x) counts[gridDim.x] = 0;
}

template <class T>
TOWERFLOW_DEVICE void places(const T* x, const std::uint32_t* starts, int64* y, int64 n,
                             const Strided<1>& shape) {
  TOWERFLOW_SHARED(WarpNumbers<int>, shared);
  const Elements<T> own(x, n);
  int before = own.count;  // of this thread and those before it, in its warp
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(kAllLanes, before, distance);
    if (threadIdx.x % 32 >= distance) before += other;
  }
  if (threadIdx.x % 32 == 31) shared[threadIdx.x / 32] = before;
  __syncthreads();
  int64 at = int64{starts[blockIdx.x]} + before - own.count;
  for (unsigned w = 0; w < threadIdx.x / 32; ++w) at += shared[w];
  for (int k = 0; k < kPerThread; ++k) {
    if (!own.chosen[k]) continue;
    auto element = static_cast<std::uint32_t>(own.first + k);
    for (int d = shape.rank - 1; d >= 0; --d) {
      const std::uint32_t outer = shape.sizes[d].quotient(element);
      y[at * shape.rank + d] = element - outer * shape.sizes[d].divisor;
      element = outer;
    }
    ++at;
  }
}

}  // namespace

#define TOWERFLOW_WHERE(name, T)                                                               \
  TOWERFLOW_MEETING_KERNEL(WhereCount_##name, 256, sizeof(WarpNumbers<int>), const T* x,       \
                           std::uint32_t* counts, int64 n) {                                   \
    count(x, counts, n);                                                                       \
  }                                                                                            \
  TOWERFLOW_MEETING_KERNEL(WherePlaces_##name, 256, sizeof(WarpNumbers<int>), const T* x,      \
                           const std::uint32_t* starts, int64* y, int64 n, Strided<1> shape) { \
    places(x, starts, y, n, shape);                                                            \
  }

TOWERFLOW_WHERE(bool, bool)
TOWERFLOW_WHERE(uint8, std::uint8_t)
TOWERFLOW_WHERE(int32, std::int32_t)
TOWERFLOW_WHERE(int64, int64)
TOWERFLOW_WHERE(float32, float)
TOWERFLOW_WHERE(float64, double)
TOWERFLOW_WHERE(float16, Half)
TOWERFLOW_WHERE(bfloat16, BFloat16)

}  // namespace towerflow::cuda::device
