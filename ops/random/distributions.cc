#include "ops/random/distributions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/graph/error.h"
#include "ops/random/box_muller.h"

namespace towerflow::random {
namespace {

/// Number of groups processed at once: their words and normals stay in the L1 cache.
constexpr int kLanes = 64;
/// Blocks of the stream reserved for each element of a distribution that rejects candidates.
constexpr std::uint64_t kBlocksPerElement = 64;
constexpr double kTruncation = 2.0;

template <class T>
using Group = std::array<T, static_cast<std::size_t>(kGroupSize<T>)>;

std::uint64_t combine_words(std::uint32_t low, std::uint32_t high) noexcept {
  return (std::uint64_t{high} << 32) | low;
}

template <class T>
void check_range(std::span<T> out, GroupRange range) {
  const std::int64_t groups = group_count<T>(static_cast<std::int64_t>(out.size()));
  if (range.begin < 0 || range.end < range.begin || range.end > groups)
    throw errors::InternalError(
        fmt::format("Groups [{}, {}) of a random output of {} groups do not exist", range.begin,
                    range.end, groups));
}

/// Writes `group`, or as much of it as the output has room for.
template <class T>
void store(const Group<T>& group, std::span<T> out, std::int64_t index) noexcept {
  const auto offset = static_cast<std::size_t>(index * kGroupSize<T>);
  const std::size_t length = std::min(group.size(), out.size() - offset);
  std::copy_n(group.begin(), length, out.begin() + static_cast<std::ptrdiff_t>(offset));
}

/// Calls `f(words, first, lanes)` for the range in pieces of at most kLanes groups: lane i of
/// `words` is the first block of group first + i. Groups are `stride` blocks apart.
template <class F>
void for_lanes(const Philox& base, std::uint64_t stride, GroupRange range, F&& f) {
  std::uint32_t words[4][kLanes];
  for (std::int64_t first = range.begin; first < range.end; first += kLanes) {
    philox_lanes(base, static_cast<std::uint64_t>(first) * stride, stride, words);
    f(words, first, static_cast<int>(std::min<std::int64_t>(kLanes, range.end - first)));
  }
}

/// Fills groups from one block each, which `convert(w0, w1, w2, w3)` turns into a group.
template <class T, class F>
void fill_by_block(const Philox& base, std::span<T> out, GroupRange range, F&& convert) {
  for_lanes(
      base, 1, range, [&](const std::uint32_t(&words)[4][kLanes], std::int64_t first, int lanes) {
        for (int i = 0; i < lanes; ++i)
          store<T>(convert(words[0][i], words[1][i], words[2][i], words[3][i]), out, first + i);
      });
}

/// The normals computed from kLanes blocks, in the order of their words.
struct NormalLanes {
  float value[4][kLanes];
  explicit NormalLanes(const std::uint32_t (&words)[4][kLanes]) noexcept {
    box_muller<kLanes>(words[0], words[1], value[0], value[1]);
    box_muller<kLanes>(words[2], words[3], value[2], value[3]);
  }
  Group<float> group(int lane) const noexcept {
    return {value[0][lane], value[1][lane], value[2][lane], value[3][lane]};
  }
};

/// Returns the normals computed from one block.
Group<float> normals_of(const Philox::Block& words, float) noexcept {
  Group<float> g;
  box_muller<1>(&words[0], &words[1], &g[0], &g[1]);
  box_muller<1>(&words[2], &words[3], &g[2], &g[3]);
  return g;
}
Group<double> normals_of(const Philox::Block& words, double) noexcept {
  Group<double> g;
  box_muller(words, g[0], g[1]);
  return g;
}

/// Appends the candidates within the truncation to `result`, which has `kept` elements so far,
/// until it is full. Returns the new number of elements.
template <class T>
std::size_t append_untruncated(const Group<T>& candidates, Group<T>& result,
                               std::size_t kept) noexcept {
  for (const T value : candidates)
    if (kept < result.size() && std::abs(value) < static_cast<T>(kTruncation))
      result[kept++] = value;
  return kept;
}

/// Returns a group of truncated normals from `candidates`, those of the first block, and `rest`,
/// the stream after it.
template <class T>
Group<T> truncated(const Group<T>& candidates, Philox rest) noexcept {
  Group<T> result{};
  std::size_t kept = append_untruncated(candidates, result, 0);
  while (kept < result.size()) kept = append_untruncated(normals_of(rest(), T{}), result, kept);
  return result;
}

}  // namespace

template <class T>
void fill_uniform(const Philox& base, std::span<T> out, GroupRange range) {
  check_range(out, range);
  fill_by_block(base, out, range,
                [](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) -> Group<T> {
                  if constexpr (std::is_same_v<T, float>)
                    return {unit_float(a), unit_float(b), unit_float(c), unit_float(d)};
                  else
                    return {unit_double(a, b), unit_double(c, d)};
                });
}

template <class T>
void fill_uniform_int(const Philox& base, T low, T high, std::span<T> out, GroupRange range) {
  check_range(out, range);
  if (out.empty()) return;
  if (low >= high)
    throw errors::InvalidArgumentError(
        fmt::format("Need minval < maxval, got {} >= {}", low, high));
  using Unsigned = std::make_unsigned_t<T>;
  const auto start = static_cast<Unsigned>(low);
  const Unsigned width = static_cast<Unsigned>(high) - start;
  const auto convert = [=](Unsigned bits) { return static_cast<T>(start + bits % width); };
  fill_by_block(
      base, out, range,
      [=](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) -> Group<T> {
        if constexpr (sizeof(T) == 4)
          return {convert(a), convert(b), convert(c), convert(d)};
        else
          return {convert(combine_words(a, b)), convert(combine_words(c, d))};
      });
}

template <>
void fill_normal(const Philox& base, std::span<float> out, GroupRange range) {
  check_range(out, range);
  for_lanes(base, 1, range,
            [&](const std::uint32_t(&words)[4][kLanes], std::int64_t first, int lanes) {
              const NormalLanes normals(words);
              for (int i = 0; i < lanes; ++i) store(normals.group(i), out, first + i);
            });
}

template <>
void fill_normal(const Philox& base, std::span<double> out, GroupRange range) {
  check_range(out, range);
  fill_by_block(base, out, range,
                [](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
                  return normals_of({a, b, c, d}, double{});
                });
}

template <>
void fill_truncated_normal(const Philox& base, std::span<float> out, GroupRange range) {
  check_range(out, range);
  const std::uint64_t stride = kBlocksPerElement * kGroupSize<float>;
  for_lanes(base, stride, range,
            [&](const std::uint32_t(&words)[4][kLanes], std::int64_t first, int lanes) {
              const NormalLanes normals(words);
              for (int i = 0; i < lanes; ++i) {
                Philox rest = base;
                rest.skip(static_cast<std::uint64_t>(first + i) * stride + 1);
                store(truncated(normals.group(i), rest), out, first + i);
              }
            });
}

template <>
void fill_truncated_normal(const Philox& base, std::span<double> out, GroupRange range) {
  check_range(out, range);
  const std::uint64_t stride = kBlocksPerElement * kGroupSize<double>;
  for (std::int64_t index = range.begin; index < range.end; ++index) {
    Philox stream = base;
    stream.skip(static_cast<std::uint64_t>(index) * stride);
    const Group<double> candidates = normals_of(stream(), double{});
    store(truncated(candidates, stream), out, index);
  }
}

template void fill_uniform(const Philox&, std::span<float>, GroupRange);
template void fill_uniform(const Philox&, std::span<double>, GroupRange);
template void fill_uniform_int(const Philox&, std::int32_t, std::int32_t, std::span<std::int32_t>,
                               GroupRange);
template void fill_uniform_int(const Philox&, std::int64_t, std::int64_t, std::span<std::int64_t>,
                               GroupRange);

}  // namespace towerflow::random
