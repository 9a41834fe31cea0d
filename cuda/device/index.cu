// Numbers of rows from indices, checked. A bad index gives -1 and sets the error to one of its
// numbers that is out of range, and its place among the indices.
//
//   SliceIndex_INDEX   indices [n, depth] -> rows [n]: the number of the slice that each names in a
//                      tensor of these outer sizes. Gather then makes GatherNd of them; with depth
//                      1 they are checked rows for scatters, since SortKeys skips negative ids.
//   CheckAscending_INDEX   sets *error if ids are negative or not ascending, as SegmentSum wants
//                      them
//   HistogramBins_T    values [n] -> ids [n]: the bin of each in `range` [2], as
//                      ops/math/bincount.cc finds it; NaN sets *error and has none
//   InTopK_INDEX       whether the class `targets[i]` is among the k largest of predictions
//                      [rows, classes], as ops/nn/in_top_k.cc says; a warp for each row
#include "cuda/device/arguments.h"
#include "cuda/device/group.cuh"

namespace towerflow::cuda::device {
namespace {

template <class Index>
TOWERFLOW_DEVICE void slice_index(const Index* indices, int64* rows, DataError* error, int64 n,
                                  const SliceShape& shape) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    int64 row = shape.per_batch == 0 ? 0 : i / shape.per_batch;
    bool valid = true;
    int64 wrong = 0;
    for (int d = 0; d < shape.depth; ++d) {
      const auto index = static_cast<int64>(indices[i * shape.depth + d]);
      const bool inside = index >= 0 && index < shape.sizes[d];
      if (valid && !inside) wrong = index;
      valid &= inside;
      row = inside ? row * shape.sizes[d] + index : 0;
    }
    rows[i] = valid ? row : -1;
    if (!valid) error->set(wrong, i);
  }
}

template <class Index>
TOWERFLOW_DEVICE void check_ascending(const Index* ids, int* error, int64 n) {
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    if (ids[i] < (i == 0 ? Index(0) : ids[i - 1])) *error = 1;
  }
}

template <class T>
TOWERFLOW_DEVICE void histogram_bins(const T* x, const T* range, std::int32_t* ids, int* error,
                                     int64 n, int bins) {
  const T low = range[0];
  const double step = static_cast<double>(range[1] - low) / static_cast<double>(bins);
  for (int64 i = grid_thread(); i < n; i += grid_threads()) {
    const T value = x[i];
    if (value != value) {
      *error = 1;
      ids[i] = -1;
      continue;
    }
    const double place = static_cast<double>(Sub()(larger(value, low), low)) / step;
    ids[i] = static_cast<std::int32_t>(smaller(place, static_cast<double>(bins - 1)));
  }
}

template <class Index>
TOWERFLOW_DEVICE void in_top_k(const float* predictions, const Index* targets, const Index* k,
                               bool* y, int64 rows, int64 classes) {
  const RowGroup warp(32);
  const auto is_number = [](float x) { return IsFinite()(x); };
  for (int64 i = warp.row; i < rows; i += warp.rows_at_once) {
    const float* row = predictions + i * classes;
    const auto target = static_cast<int64>(targets[i]);
    const bool valid = target >= 0 && target < classes && is_number(row[target]);
    int64 above = 0;
    bool all_numbers = true;
    for (int64 j = warp.thread; valid && j < classes; j += 32) {
      all_numbers &= is_number(row[j]);
      above += row[j] > row[target] ? 1 : 0;
    }
    above = reduce_warp<Sum<int64>>(above);
    all_numbers = __ballot_sync(kAllLanes, !all_numbers) == 0;
    if (warp.thread == 0) y[i] = valid && all_numbers && above < static_cast<int64>(*k);
  }
}

}  // namespace

#define TOWERFLOW_BINS(name, T)                                                              \
  TOWERFLOW_KERNEL(HistogramBins_##name, 256, const T* x, const T* range, std::int32_t* ids, \
                   int* error, int64 n, int bins) {                                          \
    histogram_bins(x, range, ids, error, n, bins);                                           \
  }
TOWERFLOW_BINS(float32, float)
TOWERFLOW_BINS(float64, double)

#define TOWERFLOW_INDEX(name, Index)                                                              \
  TOWERFLOW_KERNEL(SliceIndex_##name, 256, const Index* indices, int64* rows, DataError* error,   \
                   int64 n, SliceShape shape) {                                                   \
    slice_index(indices, rows, error, n, shape);                                                  \
  }                                                                                               \
  TOWERFLOW_KERNEL(CheckAscending_##name, 256, const Index* ids, int* error, int64 n) {           \
    check_ascending(ids, error, n);                                                               \
  }                                                                                               \
  TOWERFLOW_MEETING_KERNEL(InTopK_##name, 256, 0, const float* predictions, const Index* targets, \
                           const Index* k, bool* y, int64 rows, int64 classes) {                  \
    in_top_k(predictions, targets, k, y, rows, classes);                                          \
  }

TOWERFLOW_INDEX(int32, std::int32_t)
TOWERFLOW_INDEX(int64, int64)

}  // namespace towerflow::cuda::device
