// Rows with equal ids are combined in their order, without atomics: kernels SegmentOP_DTYPE. `keys`
// are the ids in ascending order, `rows` the numbers of the rows of x that they belong to (null if
// the rows themselves are in this order). A thread combines one column of one segment; 16-bit
// numbers are combined as float and rounded once.
//
// `start` says from what: 0: the first row of the segment, 1: what y holds, as scatter-add needs
// (and SegmentSub and SegmentDiv, which begin with y). Segments without rows are left alone. Keys
// of `segments` and above are skipped. A mean divides by the number of rows.
//
//   SegmentReplace_BYTES   y's row becomes the last row of the segment, as scatter-update needs
//   SegmentBounds          bounds [segments + 1]: where the keys of each segment begin, and end
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <class T>
struct Mean : Sum<T> {};

template <class T>
struct SubRows {
  TOWERFLOW_DEVICE static T join(T a, T b) { return Sub()(a, b); }
};
template <class T>
struct DivRows {
  TOWERFLOW_DEVICE static T join(T a, T b) { return RealDiv()(a, b); }
};

template <template <class> class R, class T>
TOWERFLOW_DEVICE void combine(const T* x, const std::uint32_t* keys, const std::uint32_t* rows,
                              T* y, int64 n, int64 width, int64 segments, int start) {
  for (int64 i = grid_thread(); i < n * width; i += grid_threads()) {
    const int64 first = i / width, column = i - first * width;
    const std::uint32_t key = keys[first];
    if (key >= segments || (first > 0 && keys[first - 1] == key)) continue;
    T* const to = y + key * width + column;
    const auto value = [=](int64 at) {
      return widen(x[(rows == nullptr ? at : int64{rows[at]}) * width + column]);
    };
    using C = Compute<T>;
    int64 at = first;
    C total = start == 0 ? value(at++) : widen(*to);
    for (; at < n && keys[at] == key; ++at) total = R<C>::join(total, value(at));
    if constexpr (std::is_same_v<R<C>, Mean<C>>) total = total / static_cast<C>(at - first);
    *to = narrow<T>(total);
  }
}

template <int kBytes>
TOWERFLOW_DEVICE void replace(const void* x, const std::uint32_t* keys, const std::uint32_t* rows,
                              void* y, int64 n, int64 width, int64 segments) {
  using E = Word<kBytes>;
  for (int64 i = grid_thread(); i < n * width; i += grid_threads()) {
    const int64 last = i / width, column = i - last * width;
    const std::uint32_t key = keys[last];
    if (key >= segments || (last + 1 < n && keys[last + 1] == key)) continue;
    const int64 row = rows == nullptr ? last : int64{rows[last]};
    static_cast<E*>(y)[key * width + column] = static_cast<const E*>(x)[row * width + column];
  }
}

}  // namespace

#define TOWERFLOW_SEGMENTS(op, name, T)                                                   \
  TOWERFLOW_KERNEL(Segment##op##_##name, 256, const T* x, const std::uint32_t* keys,      \
                   const std::uint32_t* rows, T* y, int64 n, int64 width, int64 segments, \
                   int start) {                                                           \
    combine<op>(x, keys, rows, y, n, width, segments, start);                             \
  }
#define TOWERFLOW_FLOATS(op)              \
  TOWERFLOW_SEGMENTS(op, float32, float)  \
  TOWERFLOW_SEGMENTS(op, float64, double) \
  TOWERFLOW_SEGMENTS(op, float16, Half)   \
  TOWERFLOW_SEGMENTS(op, bfloat16, BFloat16)
#define TOWERFLOW_NUMBERS(op)                 \
  TOWERFLOW_FLOATS(op)                        \
  TOWERFLOW_SEGMENTS(op, int32, std::int32_t) \
  TOWERFLOW_SEGMENTS(op, int64, int64)

TOWERFLOW_NUMBERS(Sum)
TOWERFLOW_NUMBERS(Prod)
TOWERFLOW_NUMBERS(Max)
TOWERFLOW_NUMBERS(Min)
TOWERFLOW_FLOATS(Mean)
#define TOWERFLOW_NAMED(op, rule, name, T)                                                \
  TOWERFLOW_KERNEL(Segment##op##_##name, 256, const T* x, const std::uint32_t* keys,      \
                   const std::uint32_t* rows, T* y, int64 n, int64 width, int64 segments, \
                   int start) {                                                           \
    combine<rule>(x, keys, rows, y, n, width, segments, start);                           \
  }
TOWERFLOW_NAMED(Sub, SubRows, float32, float)
TOWERFLOW_NAMED(Sub, SubRows, float64, double)
TOWERFLOW_NAMED(Sub, SubRows, float16, Half)
TOWERFLOW_NAMED(Sub, SubRows, bfloat16, BFloat16)
TOWERFLOW_NAMED(Sub, SubRows, int32, std::int32_t)
TOWERFLOW_NAMED(Sub, SubRows, int64, int64)
TOWERFLOW_NAMED(Div, DivRows, float32, float)
TOWERFLOW_NAMED(Div, DivRows, float64, double)
TOWERFLOW_NAMED(Div, DivRows, float16, Half)
TOWERFLOW_NAMED(Div, DivRows, bfloat16, BFloat16)

#define TOWERFLOW_REPLACE(bytes)                                                               \
  TOWERFLOW_KERNEL(SegmentReplace_##bytes, 256, const void* x, const std::uint32_t* keys,      \
                   const std::uint32_t* rows, void* y, int64 n, int64 width, int64 segments) { \
    replace<bytes>(x, keys, rows, y, n, width, segments);                                      \
  }
TOWERFLOW_REPLACE(1)
TOWERFLOW_REPLACE(2)
TOWERFLOW_REPLACE(4)
TOWERFLOW_REPLACE(8)

TOWERFLOW_KERNEL(SegmentBounds, 256, const std::uint32_t* keys, int64* bounds, int64 n,
                 int64 segments) {
  for (int64 s = grid_thread(); s <= segments; s += grid_threads()) {
    int64 low = 0, high = n;  // the first key that is s or above is in [low, high]
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if (keys[middle] < s) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    bounds[s] = low;
  }
}

}  // namespace towerflow::cuda::device
