#include "parallel/processes/rank_order_mean.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace towerflow::parallel::processes {
namespace {

/// Elements that are added at a time, in the first cache.
constexpr std::int64_t kBlock = 2048;

/// Adds up to four parts, in their order, to what `sums` has; to zero if `first` is 0.
template <class T>
void add_up(const std::vector<const T*>& parts, std::size_t first, std::int64_t count, T* sums) {
  const T* const* part = parts.data() + first;
  const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const T* const from[] = {part[I]...};
    if (first == 0) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] = (T(0) + ... + from[I][i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) sums[i] = (sums[i] + ... + from[I][i]);
    }
  };
  switch (std::min<std::size_t>(parts.size() - first, 4)) {
    case 1:
      return add(std::make_index_sequence<1>());
    case 2:
      return add(std::make_index_sequence<2>());
    case 3:
      return add(std::make_index_sequence<3>());
    default:
      return add(std::make_index_sequence<4>());
  }
}

/// Writes the mean of `parts`, added in their order from zero, to `out`, which may be one of them.
template <class T>
void mean_of_parts(std::vector<const T*> parts, std::int64_t count, T* out) {
  T sums[kBlock];
  const T number = static_cast<T>(parts.size());
  // Multiplication by the inverse of a power of two is exact, and faster than division.
  const bool is_power = (parts.size() & (parts.size() - 1)) == 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, count - begin);
    for (std::size_t first = 0; first < parts.size(); first += 4) add_up(parts, first, n, sums);
    if (is_power) {
      for (std::int64_t i = 0; i < n; ++i) out[begin + i] = sums[i] * (1 / number);
    } else {
      for (std::int64_t i = 0; i < n; ++i) out[begin + i] = sums[i] / number;
    }
    for (const T*& part : parts) part += n;
  }
}

template <class T>
void mean_of(const std::vector<const void*>& parts, std::int64_t count, void* out) {
  std::vector<const T*> typed;
  for (const void* part : parts) typed.push_back(static_cast<const T*>(part));
  mean_of_parts<T>(std::move(typed), count, static_cast<T*>(out));
}

}  // namespace

void mean_in_order(DType dtype, const std::vector<const void*>& parts, std::int64_t count,
                   void* out) {
  if (dtype == DType::float32) {
    mean_of<float>(parts, count, out);
  } else {
    mean_of<double>(parts, count, out);
  }
}

}  // namespace towerflow::parallel::processes
