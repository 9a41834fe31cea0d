#pragma once

#include <algorithm>
#include <cstdint>

/// The one place that says into how many parts a computation is cut for the threads. The number
/// depends on sizes alone, never on the threads, so that neither do the bits of a result.
namespace towerflow {

/// Elements of a loop below which a second core costs more than it saves.
inline constexpr std::int64_t kLoopGrain = 1 << 15;
inline constexpr int kMostSlices = 64;
/// Of slices that have memory of their own.
inline constexpr int kMostPartialSlices = 8;

/// Slices of `total` elements, images or whatever is not cut further: each gets `grain` of them or
/// more, unless there is one alone, and there are `most` at most.
constexpr int slice_count(std::int64_t total, std::int64_t grain, int most = kMostSlices) {
  return static_cast<int>(std::clamp<std::int64_t>(total / grain, 1, most));
}

/// Slices of a loop over independent elements.
constexpr int loop_slices(std::int64_t elements) { return slice_count(elements, kLoopGrain); }

/// Slices of a loop in which each has a buffer or a partial sum of its own. Partial sums are added
/// in slice order: their number is part of a sum's bits.
constexpr int partial_slices(std::int64_t elements) {
  return slice_count(elements, kLoopGrain, kMostPartialSlices);
}

/// Slices of a loop over independent rows of `width` elements, which are not cut.
constexpr int row_slices(std::int64_t rows, std::int64_t width) {
  const int most = static_cast<int>(std::clamp<std::int64_t>(rows, 1, kMostSlices));
  return slice_count(rows * width, kLoopGrain, most);
}

/// Half-open range of elements.
struct SliceRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Part `slice` of `total` elements cut into `slices` nearly equal parts whose borders are
/// multiples of `unit`; parts at the end may be empty.
inline SliceRange slice_range(std::int64_t total, int slices, int slice, std::int64_t unit = 1) {
  const std::int64_t units = (total + unit - 1) / unit;
  const std::int64_t base = units / slices;
  const std::int64_t extra = units % slices;
  const std::int64_t first = slice * base + std::min<std::int64_t>(slice, extra);
  const std::int64_t count = base + (slice < extra ? 1 : 0);
  return {std::min(first * unit, total), std::min((first + count) * unit, total)};
}

}  // namespace towerflow
