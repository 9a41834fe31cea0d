#pragma once

#include <cstdint>
#include <span>

#include "ops/random/philox.h"

namespace towerflow::random {

/// Elements per group. A group is what TensorFlow draws at one position of the stream: element i
/// depends only on its group, so slices of groups can be filled in any order, by any thread.
template <class T>
inline constexpr std::int64_t kGroupSize = 16 / static_cast<std::int64_t>(sizeof(T));

/// Returns the number of groups in an output of `count` elements; the last may be partial.
template <class T>
constexpr std::int64_t group_count(std::int64_t count) noexcept {
  return count / kGroupSize<T> + (count % kGroupSize<T> != 0 ? 1 : 0);
}

/// The groups of an output that a call fills: [begin, end).
struct GroupRange {
  std::int64_t begin;
  std::int64_t end;
};

// Each function below fills the elements of the groups `range` of `out`, the whole output, and
// leaves the others alone. `base` is the result of GuardedPhilox::reserve_outputs(out.size()).
// Throws InternalError for a range outside [0, group_count<T>(out.size())]. The overload without a
// range fills everything.

/// RandomUniform: [0, 1) in steps of 2^-23 (float) or 2^-52 (double). T: float, double.
template <class T>
void fill_uniform(const Philox& base, std::span<T> out, GroupRange range);

/// RandomUniformInt: [low, high), by remainder, with its slight bias. T: std::int32_t,
/// std::int64_t. Throws InvalidArgumentError unless low < high, except for an empty `out`.
template <class T>
void fill_uniform_int(const Philox& base, T low, T high, std::span<T> out, GroupRange range);

/// RandomStandardNormal by Box and Muller. T: float, double.
template <class T>
void fill_normal(const Philox& base, std::span<T> out, GroupRange range);

/// TruncatedNormal: standard normal, redrawn until its magnitude is below 2. T: float, double.
template <class T>
void fill_truncated_normal(const Philox& base, std::span<T> out, GroupRange range);

template <class T>
GroupRange all_groups(std::span<T> out) noexcept {
  return {0, group_count<T>(static_cast<std::int64_t>(out.size()))};
}
template <class T>
void fill_uniform(const Philox& base, std::span<T> out) {
  fill_uniform(base, out, all_groups(out));
}
template <class T>
void fill_uniform_int(const Philox& base, T low, T high, std::span<T> out) {
  fill_uniform_int(base, low, high, out, all_groups(out));
}
template <class T>
void fill_normal(const Philox& base, std::span<T> out) {
  fill_normal(base, out, all_groups(out));
}
template <class T>
void fill_truncated_normal(const Philox& base, std::span<T> out) {
  fill_truncated_normal(base, out, all_groups(out));
}

}  // namespace towerflow::random
