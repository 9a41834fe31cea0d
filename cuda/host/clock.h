#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace towerflow::cuda::host {

/// A vector clock: says for each component how many pieces of its work come before a point. A
/// component is a stream, or a branch of a graph; its work is in order.
class Clock {
 public:
  std::uint64_t operator[](std::size_t component) const {
    return component < counts_.size() ? counts_[component] : 0;
  }
  void set(std::size_t component, std::uint64_t count) {
    if (component >= counts_.size()) counts_.resize(component + 1);
    counts_[component] = count;
  }
  /// Adds what comes before another point.
  void join(const Clock& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) {
      counts_[i] = std::max(counts_[i], other.counts_[i]);
    }
  }
  /// Returns whether the `count`th piece of work of a component comes before this point.
  bool covers(std::size_t component, std::uint64_t count) const {
    return (*this)[component] >= count;
  }

 private:
  std::vector<std::uint64_t> counts_;  // by component
};

}  // namespace towerflow::cuda::host
