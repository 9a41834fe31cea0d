#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace towerflow::report {

/// Numbers in the order of their times, and of their addition where these are equal. No time may be
/// earlier than the last one taken; the smallest rounding error below it counts as equal.
///
/// This is a radix heap: numbers lie in bins by the highest bit in which their time differs from
/// the last one taken, since the bits of positive doubles have the order of the doubles. Millions
/// of messages wait at once, for which it is several times as fast as std::priority_queue.
class TimeQueue {
 public:
  bool empty() const { return count_ == 0; }

  void add(double time, std::uint32_t number) {
    const std::uint64_t key = std::max(std::bit_cast<std::uint64_t>(time), last_);
    bins_[bin_of(key)].push_back({key, number});
    ++count_;
  }

  std::pair<double, std::uint32_t> take() {
    if (next_ == bins_[0].size()) refill();
    --count_;
    const Entry entry = bins_[0][next_++];
    return {std::bit_cast<double>(entry.key), entry.number};
  }

 private:
  struct Entry {
    std::uint64_t key;
    std::uint32_t number;
  };

  std::size_t bin_of(std::uint64_t key) const {
    return static_cast<std::size_t>(std::bit_width(key ^ last_));
  }

  /// Distributes the first bin that is not empty over those before it; what has the earliest time
  /// comes to bin 0.
  void refill() {
    bins_[0].clear();
    next_ = 0;
    std::size_t first = 1;
    while (bins_[first].empty()) ++first;
    const auto earlier = [](const Entry& a, const Entry& b) { return a.key < b.key; };
    last_ = std::min_element(bins_[first].begin(), bins_[first].end(), earlier)->key;
    for (const Entry& entry : bins_[first]) bins_[bin_of(entry.key)].push_back(entry);
    bins_[first].clear();
  }

  std::array<std::vector<Entry>, 65> bins_;
  std::size_t next_ = 0;  // in bin 0
  std::size_t count_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace towerflow::report
