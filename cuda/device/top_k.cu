// The k largest elements of each row, in descending order; equal ones keep their order, -0 equals 0
// and NaN is the least, as in ops/nn/top_k.cc.
//
//   TopK_T         x [rows, n] -> values, indices [rows, k]: finds one after another, for small k;
//                  `group` threads a row, 32 or 256
//
// Larger k are sorted. The keys of a stable sort are 32 bits of each element, in ascending order
// where the elements descend; one sort for each word from the lowest, then one by rows:
//
//   OrderKeys_T    x, rows [n] -> keys [n]: word `word` of the elements that `rows` names; numbers
//                  the rows first if `first`
//   OrderRows      rows -> keys: the row [.., width] that contains each element
//   TopKTake_T     rows, sorted -> values, indices: the first k of each row
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

/// An unsigned number with the order of x.
template <class T>
TOWERFLOW_DEVICE std::uint64_t sort_key(T stored) {
  using C = Compute<T>;
  const C x = widen(stored);
  constexpr std::uint64_t kTop = std::uint64_t{1} << (8 * sizeof(C) - 1);
  if constexpr (kIsFloat<C>) {
    using Bits = std::conditional_t<sizeof(C) == 4, std::uint32_t, std::uint64_t>;
    if (x != x) return 0;
    const std::uint64_t bits = bits_as<Bits>(x + C(0));  // -0 becomes 0
    return (bits & kTop) != 0 ? ~bits & (kTop | (kTop - 1)) : bits | kTop;
  } else if constexpr (std::is_signed_v<C>) {
    return static_cast<std::make_unsigned_t<C>>(x) ^ kTop;
  } else {
    return x;
  }
}

/// The larger key, and the smaller place among equal keys; no element yet if the place is negative.
struct Ranked {
  std::uint64_t key = 0;
  int64 place = -1;
  TOWERFLOW_DEVICE bool is_before(const Ranked& other) const {
    if (place < 0 || other.place < 0) return other.place < 0 && place >= 0;
    return key != other.key ? key > other.key : place < other.place;
  }
};

using SharedRanked = Ranked[kGroupBlock / 32];

TOWERFLOW_DEVICE Ranked first_of_group(const RowGroup& group, Ranked own, SharedRanked& shared) {
  for (int distance = 16; distance > 0; distance /= 2) {
    Ranked other;
    other.key = __shfl_xor_sync(kAllLanes, own.key, distance);
    other.place = __shfl_xor_sync(kAllLanes, own.place, distance);
    if (other.is_before(own)) own = other;
  }
  if (group.size == 32) return own;
  __syncthreads();  // what the last round found has been read
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = own;
  __syncthreads();
  own = shared[0];
  for (int i = 1; i < kGroupBlock / 32; ++i) {
    const Ranked other = shared[i];
    if (other.is_before(own)) own = other;
  }
  return own;
}

template <class T>
TOWERFLOW_DEVICE void top_k(const T* x, T* values, std::int32_t* indices, int64 rows, int64 n,
                            int64 k, int threads) {
  TOWERFLOW_SHARED(SharedRanked, shared);
  const RowGroup group(threads);
  // Every thread of a block makes the same number of turns: they meet in each.
  for (int64 first = 0; first < rows; first += group.rows_at_once) {
    const int64 row = first + group.row;
    const bool active = row < rows;
    Ranked last;  // what the round before found
    for (int64 found = 0; found < k; ++found) {
      Ranked own;
      for (int64 j = group.thread; active && j < n; j += group.size) {
        Ranked candidate;
        candidate.key = sort_key(x[row * n + j]);
        candidate.place = j;
        if ((found == 0 || last.is_before(candidate)) && candidate.is_before(own)) own = candidate;
      }
      last = first_of_group(group, own, shared);
      if (active && group.thread == 0) {
        values[row * k + found] = x[row * n + last.place];
        indices[row * k + found] = static_cast<std::int32_t>(last.place);
      }
    }
  }
}

template <class T>
TOWERFLOW_DEVICE void order_keys(const T* x, std::uint32_t* rows, std::uint32_t* keys, int64 n,
                                 int word, int first) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const std::uint32_t at = first != 0 ? static_cast<std::uint32_t>(i) : rows[i];
    if (first != 0) rows[i] = at;
    keys[i] = ~static_cast<std::uint32_t>(sort_key(x[at]) >> (32 * word));
  }
}

template <class T>
TOWERFLOW_DEVICE void take_sorted(const T* x, const std::uint32_t* sorted, T* values,
                                  std::int32_t* indices, int64 rows, int64 n, int64 k) {
  for (int64 i = grid_thread(); i < rows * k; i += grid_threads()) {
    const int64 row = i / k, at = sorted[row * n + i - row * k];
    values[i] = x[at];
    indices[i] = static_cast<std::int32_t>(at - row * n);
  }
}

}  // namespace

TOWERFLOW_KERNEL(OrderRows, 256, const std::uint32_t* rows, std::uint32_t* keys, int64 n,
                 int64 width) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    keys[i] = static_cast<std::uint32_t>(rows[i] / width);
  }
}

#define TOWERFLOW_TOP_K(name, T)                                                                \
  TOWERFLOW_MEETING_KERNEL(TopK_##name, 256, sizeof(SharedRanked), const T* x, T* values,       \
                           std::int32_t* indices, int64 rows, int64 n, int64 k, int group) {    \
    top_k(x, values, indices, rows, n, k, group);                                               \
  }                                                                                             \
  TOWERFLOW_KERNEL(OrderKeys_##name, 256, const T* x, std::uint32_t* rows, std::uint32_t* keys, \
                   int64 n, int word, int first) {                                              \
    order_keys(x, rows, keys, n, word, first);                                                  \
  }                                                                                             \
  TOWERFLOW_KERNEL(TopKTake_##name, 256, const T* x, const std::uint32_t* sorted, T* values,    \
                   std::int32_t* indices, int64 rows, int64 n, int64 k) {                       \
    take_sorted(x, sorted, values, indices, rows, n, k);                                        \
  }

TOWERFLOW_TOP_K(float32, float)
TOWERFLOW_TOP_K(float64, double)
TOWERFLOW_TOP_K(float16, Half)
TOWERFLOW_TOP_K(bfloat16, BFloat16)
TOWERFLOW_TOP_K(int32, std::int32_t)
TOWERFLOW_TOP_K(int64, int64)
TOWERFLOW_TOP_K(uint8, std::uint8_t)

}  // namespace towerflow::cuda::device
