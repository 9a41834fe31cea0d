#pragma once

#include <algorithm>
#include <cstdint>

/// The rules for splitting a computation into slices for the threads. The number of slices depends
/// only on sizes, never on the number of threads, so results are bitwise reproducible.
namespace towerflow {

/// Minimum elements per slice of a loop; with fewer, a second core costs more than it saves.
inline constexpr std::int64_t kLoopGrain = 1 << 15;
inline constexpr int kMaxSlices = 64;
/// Maximum number of slices that each have their own memory.
inline constexpr int kMaxPartialSlices = 8;

/// Returns the number of slices for `total` elements, images or other indivisible units: each slice
/// gets at least `grain` of them unless there is only one slice, and there are at most `most`.
constexpr int slice_count(std::int64_t total, std::int64_t grain, int most = kMaxSlices) {
  return static_cast<int>(std::clamp<std::int64_t>(total / grain, 1, most));
}

/// Returns the number of slices of a loop over independent elements. `cost` is that of an element,
/// in additions of vectors: about 16 for a function that is computed number by number.
constexpr int loop_slices(std::int64_t elements, int cost = 1) {
  return slice_count(elements, kLoopGrain / cost);
}

/// Returns the number of slices of a loop in which each slice has its own buffer or partial sum.
/// Partial sums are added in slice order, so their number affects the rounding of a sum.
constexpr int partial_slices(std::int64_t elements) {
  return slice_count(elements, kLoopGrain, kMaxPartialSlices);
}

/// Returns the number of slices of a loop over independent rows of `width` elements, which are not
/// split.
constexpr int row_slices(std::int64_t rows, std::int64_t width) {
  const int most = static_cast<int>(std::clamp<std::int64_t>(rows, 1, kMaxSlices));
  return slice_count(rows * width, kLoopGrain, most);
}

/// A half-open range of elements.
struct SliceRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Returns part `slice` of `total` elements split into `slices` nearly equal parts whose borders
/// are multiples of `unit`; parts at the end may be empty.
inline SliceRange slice_range(std::int64_t total, int slices, int slice, std::int64_t unit = 1) {
  const std::int64_t units = (total + unit - 1) / unit;
  const std::int64_t base = units / slices;
  const std::int64_t extra = units % slices;
  const std::int64_t first = slice * base + std::min<std::int64_t>(slice, extra);
  const std::int64_t count = base + (slice < extra ? 1 : 0);
  return {std::min(first * unit, total), std::min((first + count) * unit, total)};
}

}  // namespace towerflow
