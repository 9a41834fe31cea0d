// Rows with equal ids are combined in their order, without atomics: kernels SegmentOP_DTYPE. `keys`
// are the ids in ascending order, `rows` the numbers of the rows of x that they belong to (null if
// the rows themselves are in this order). A thread combines one column of one segment.
//
// `start` says from what: 0: the first row of the segment, 1: what y holds, as scatter-add needs.
// Segments without rows are left alone. Keys of `segments` and above are skipped. A mean divides by
// the number of rows.
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <class T>
struct Mean : Sum<T> {};

template <template <class> class R, class T>
TOWERFLOW_DEVICE void combine(const T* x, const std::uint32_t* keys, const std::uint32_t* rows,
                              T* y, int64 n, int64 width, int64 segments, int start) {
  for (int64 i = grid_thread(); i < n * width; i += grid_threads()) {
    const int64 first = i / width, column = i - first * width;
    const std::uint32_t key = keys[first];
    if (key >= segments || (first > 0 && keys[first - 1] == key)) continue;
    T* const to = y + key * width + column;
    const auto value = [=](int64 at) {
      return x[(rows == nullptr ? at : int64{rows[at]}) * width + column];
    };
    int64 at = first;
    T total = start == 0 ? value(at++) : *to;
    for (; at < n && keys[at] == key; ++at) total = R<T>::join(total, value(at));
    if constexpr (std::is_same_v<R<T>, Mean<T>>) total = total / static_cast<T>(at - first);
    *to = total;
  }
}

}  // namespace

#define TOWERFLOW_SEGMENTS(op, name, T)                                                   \
  TOWERFLOW_KERNEL(Segment##op##_##name, 256, const T* x, const std::uint32_t* keys,      \
                   const std::uint32_t* rows, T* y, int64 n, int64 width, int64 segments, \
                   int start) {                                                           \
    combine<op>(x, keys, rows, y, n, width, segments, start);                             \
  }
#define TOWERFLOW_NUMBERS(op)                 \
  TOWERFLOW_SEGMENTS(op, float32, float)      \
  TOWERFLOW_SEGMENTS(op, float64, double)     \
  TOWERFLOW_SEGMENTS(op, int32, std::int32_t) \
  TOWERFLOW_SEGMENTS(op, int64, int64)

TOWERFLOW_NUMBERS(Sum)
TOWERFLOW_NUMBERS(Prod)
TOWERFLOW_NUMBERS(Max)
TOWERFLOW_NUMBERS(Min)
TOWERFLOW_SEGMENTS(Mean, float32, float)
TOWERFLOW_SEGMENTS(Mean, float64, double)

}  // namespace towerflow::cuda::device
