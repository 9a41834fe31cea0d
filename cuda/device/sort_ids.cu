// A stable sort of ids by their value, four bits at a time from the lowest, without atomics: the
// order in which rows with equal ids are combined is then always that of the rows. A pass over the
// digit at `shift` is three launches:
//
//   SortCount   keys [n] -> counts [16, tiles]; a block of 256 threads for each tile of kSortTile
//   SortScan    counts -> where the keys of each digit and tile begin; one block of 256 threads
//   SortMove    keys, rows -> sorted keys, their rows
//
// SortKeys makes the first keys from ids: an id below 0 becomes `segments`, which sorts it to the
// end, and so does one that is too large, which also sets *error. RowKeys makes them of the rows of
// a variable that is updated: any id that is no row sets *error, and DropKeys then sorts all to the
// end, so that nothing is written.
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

constexpr int kDigits = 16, kSortThreads = 256, kKeysOfThread = 4;
constexpr int kSortTile = kSortThreads * kKeysOfThread;

using Counts = std::uint16_t[kDigits][kSortThreads];
using Starts = std::uint16_t[kDigits];
using Totals = std::uint32_t[kSortThreads];

template <class Id>
TOWERFLOW_DEVICE void make_keys(const Id* ids, std::uint32_t* keys, std::uint32_t* rows,
                                DataError* error, int64 n, int64 segments) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const auto id = static_cast<int64>(ids[i]);
    keys[i] = static_cast<std::uint32_t>(id < 0 || id >= segments ? segments : id);
    rows[i] = static_cast<std::uint32_t>(i);
    if (id >= segments) error->set(id, i);
  }
}

template <class Id>
TOWERFLOW_DEVICE void make_row_keys(const Id* ids, std::uint32_t* keys, std::uint32_t* rows,
                                    DataError* error, int64 n, int64 segments) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const auto id = static_cast<int64>(ids[i]);
    const bool is_row = id >= 0 && id < segments;
    keys[i] = static_cast<std::uint32_t>(is_row ? id : segments);
    rows[i] = static_cast<std::uint32_t>(i);
    if (!is_row) error->set(id, i);
  }
}

/// The keys of a thread: neighbours, so that the order of threads is that of keys.
struct Keys {
  std::uint32_t digit[kKeysOfThread];
  int64 first;
  int count;

  TOWERFLOW_DEVICE Keys(const std::uint32_t* keys, int64 n, int shift) {
    first = int64{blockIdx.x} * kSortTile + int64{threadIdx.x} * kKeysOfThread;
    count = static_cast<int>(smaller<int64>(larger<int64>(n - first, 0), kKeysOfThread));
    for (int k = 0; k < count; ++k) digit[k] = keys[first + k] >> shift & (kDigits - 1);
  }
};

/// Writes how many keys with each digit the threads before this one have.
TOWERFLOW_DEVICE void count_before(const Keys& keys, Counts& counts, Starts& totals) {
  const unsigned thread = threadIdx.x;
  for (int d = 0; d < kDigits; ++d) counts[d][thread] = 0;
  for (int k = 0; k < keys.count; ++k) ++counts[keys.digit[k]][thread];
  __syncthreads();
  // Sixteen threads for each digit add up sixteen numbers each, then one thread of them the rest.
  const unsigned d = thread / 16, part = thread % 16;
  std::uint16_t sum = 0;
  for (unsigned i = 0; i < 16; ++i) {
    const std::uint16_t own = counts[d][part * 16 + i];
    counts[d][part * 16 + i] = sum;
    sum = static_cast<std::uint16_t>(sum + own);
  }
  std::uint16_t before = sum;
  for (unsigned distance = 1; distance < 16; distance *= 2) {
    const auto other = static_cast<std::uint16_t>(
        __shfl_up_sync(kAllLanes, static_cast<unsigned>(before), distance, 16));
    if (part >= distance) before = static_cast<std::uint16_t>(before + other);
  }
  if (part == 15) totals[d] = before;
  before = static_cast<std::uint16_t>(before - sum);
  for (unsigned i = 0; i < 16; ++i) {
    counts[d][part * 16 + i] = static_cast<std::uint16_t>(counts[d][part * 16 + i] + before);
  }
  __syncthreads();
}

}  // namespace

TOWERFLOW_KERNEL(SortKeys_int32, 256, const std::int32_t* ids, std::uint32_t* keys,
                 std::uint32_t* rows, DataError* error, int64 n, int64 segments) {
  make_keys(ids, keys, rows, error, n, segments);
}
TOWERFLOW_KERNEL(SortKeys_int64, 256, const int64* ids, std::uint32_t* keys, std::uint32_t* rows,
                 DataError* error, int64 n, int64 segments) {
  make_keys(ids, keys, rows, error, n, segments);
}

TOWERFLOW_KERNEL(RowKeys_int32, 256, const std::int32_t* ids, std::uint32_t* keys,
                 std::uint32_t* rows, DataError* error, int64 n, int64 segments) {
  make_row_keys(ids, keys, rows, error, n, segments);
}
TOWERFLOW_KERNEL(RowKeys_int64, 256, const int64* ids, std::uint32_t* keys, std::uint32_t* rows,
                 DataError* error, int64 n, int64 segments) {
  make_row_keys(ids, keys, rows, error, n, segments);
}
TOWERFLOW_KERNEL(DropKeys, 256, const DataError* error, std::uint32_t* keys, int64 n,
                 int64 segments) {
  if (error->found == 0) return;
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    keys[i] = static_cast<std::uint32_t>(segments);
  }
}

TOWERFLOW_MEETING_KERNEL(SortCount, kSortThreads, sizeof(Counts) + sizeof(Starts),
                         const std::uint32_t* keys, std::uint32_t* counts, int64 n, int shift) {
  TOWERFLOW_SHARED(Counts, before);
  TOWERFLOW_SHARED(Starts, totals);
  count_before(Keys(keys, n, shift), before, totals);
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = totals[threadIdx.x];
}

TOWERFLOW_MEETING_KERNEL(SortScan, kSortThreads, sizeof(Totals), std::uint32_t* counts, int64 n) {
  TOWERFLOW_SHARED(Totals, totals);
  const int64 most = (n + kSortThreads - 1) / kSortThreads;
  const int64 begin = smaller(threadIdx.x * most, n), end = smaller(begin + most, n);
  std::uint32_t sum = 0;
  for (int64 i = begin; i < end; ++i) sum += counts[i];
  totals[threadIdx.x] = sum;
  __syncthreads();
  std::uint32_t before = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) before += totals[i];
  for (int64 i = begin; i < end; ++i) {
    const std::uint32_t own = counts[i];
    counts[i] = before;
    before += own;
  }
}

TOWERFLOW_MEETING_KERNEL(SortMove, kSortThreads, sizeof(Counts) + sizeof(Starts),
                         const std::uint32_t* keys, const std::uint32_t* rows,
                         const std::uint32_t* starts, std::uint32_t* sorted_keys,
                         std::uint32_t* sorted_rows, int64 n, int shift) {
  TOWERFLOW_SHARED(Counts, before);
  TOWERFLOW_SHARED(Starts, totals);
  const Keys own(keys, n, shift);
  count_before(own, before, totals);
  for (int k = 0; k < own.count; ++k) {
    const std::uint32_t digit = own.digit[k];
    const std::uint32_t at = starts[digit * gridDim.x + blockIdx.x] + before[digit][threadIdx.x]++;
    sorted_keys[at] = keys[own.first + k];
    sorted_rows[at] = rows[own.first + k];
  }
}

}  // namespace towerflow::cuda::device
