// The place of the largest or smallest element along an axis, as ops/math/argmax.cc finds it:
// kernels OP_T_INDEX(x, y, outer, n, inner, group), as ArgMax_float32_int64, with x [outer, n,
// inner] and y [outer, inner], which has fewer than 2^31 elements. `group` threads work on each
// result: 32, or 1 if there are many results whose neighbours are neighbours in memory. The first
// of equal elements is found; NaN and what does not exceed the lowest (for the smallest: highest)
// finite number never is, and the place is 0 if there is nothing else.
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <class T, bool kLargest>
struct Extreme {
  using C = Compute<T>;
  C value;
  int64 place = 0;

  TOWERFLOW_DEVICE Extreme() : value(start()) {}
  TOWERFLOW_DEVICE static C start() {
    if constexpr (kLargest) return lowest<T>();
    if constexpr (kIsFloat<C>) return -lowest<T>();
    return std::numeric_limits<C>::max();
  }
  TOWERFLOW_DEVICE static bool beats(C a, C b) { return kLargest ? a > b : a < b; }

  TOWERFLOW_DEVICE void take(C other, int64 at) {
    if (beats(other, value)) {
      value = other;
      place = at;
    }
  }
  /// Takes what another thread found, in either order.
  TOWERFLOW_DEVICE void join(C other, int64 at) {
    if (beats(other, value) || (other == value && at < place)) {
      value = other;
      place = at;
    }
  }
};

template <bool kLargest, class T, class Index>
TOWERFLOW_DEVICE void find_extremes(const T* x, Index* y, int64 outer, int64 n,
                                    const Divisor& inner, int threads) {
  const RowGroup group(threads);
  const int64 width = inner.divisor, results = outer * width;
  for (int64 i = group.row; i < results; i += group.rows_at_once) {
    const int64 o = inner.quotient(static_cast<std::uint32_t>(i));
    const T* from = x + o * n * width + i - o * width;
    Extreme<T, kLargest> found;
    for (int64 k = group.thread; k < n; k += threads) found.take(widen(from[k * width]), k);
    for (int distance = threads / 2; distance > 0; distance /= 2) {
      const auto other = __shfl_xor_sync(kAllLanes, found.value, distance);
      found.join(other, __shfl_xor_sync(kAllLanes, found.place, distance));
    }
    if (group.thread == 0) y[i] = static_cast<Index>(found.place);
  }
}

}  // namespace

#define TOWERFLOW_EXTREME(op, largest, name, T, index, Index)                                \
  TOWERFLOW_MEETING_KERNEL(op##_##name##_##index, 256, 0, const T* x, Index* y, int64 outer, \
                           int64 n, Divisor inner, int group) {                              \
    find_extremes<largest>(x, y, outer, n, inner, group);                                    \
  }
#define TOWERFLOW_EXTREMES(name, T)                              \
  TOWERFLOW_EXTREME(ArgMax, true, name, T, int32, std::int32_t)  \
  TOWERFLOW_EXTREME(ArgMax, true, name, T, int64, int64)         \
  TOWERFLOW_EXTREME(ArgMin, false, name, T, int32, std::int32_t) \
  TOWERFLOW_EXTREME(ArgMin, false, name, T, int64, int64)

TOWERFLOW_EXTREMES(float32, float)
TOWERFLOW_EXTREMES(float64, double)
TOWERFLOW_EXTREMES(float16, Half)
TOWERFLOW_EXTREMES(bfloat16, BFloat16)
TOWERFLOW_EXTREMES(int32, std::int32_t)
TOWERFLOW_EXTREMES(int64, int64)
TOWERFLOW_EXTREMES(uint8, std::uint8_t)

}  // namespace towerflow::cuda::device
