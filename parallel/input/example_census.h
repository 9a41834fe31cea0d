#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/array.h"
#include "core/graph/site.h"

namespace towerflow::parallel::types {

/// Counts which tower has read which example, how often. An example is known by the hash of its
/// bytes, which is the same in every process.
class ExampleCensus {
 public:
  /// Throws ValueError for less than one tower.
  explicit ExampleCensus(int num_towers, Site site = Site::current());

  /// Adds a batch that a tower has read. Each row of `batch`, an element of its first dimension, is
  /// one example, such as an image before it is distorted, or an id.
  ///
  /// errors   ValueError: no such tower; a scalar
  void add(int tower, const Array& batch, Site site = Site::current());

  /// Returns the number of rows that a tower has read.
  std::int64_t reads(int tower) const { return reads_.at(static_cast<std::size_t>(tower)); }
  /// Returns the number of different examples.
  std::int64_t examples() const { return static_cast<std::int64_t>(counts_.size()); }
  /// Returns how many examples were read how often by all towers together: {{1, 2000}} if each of
  /// 2,000 was read once.
  std::map<std::int64_t, std::int64_t> times() const;
  /// Returns the number of examples that more than one tower has read.
  std::int64_t shared() const;
  /// Returns the hash of all examples with their counts, whichever tower has read them and in
  /// whichever order: two passes over the same examples have the same.
  std::uint64_t fingerprint() const;
  /// Returns a summary: "2,000 examples, each read once; by tower 0: 1,000, by tower 1: 1,000".
  std::string text() const;

 private:
  struct Count {
    std::int64_t times = 0;
    int tower = 0;  // that has read it first
    bool shared = false;
  };
  std::vector<std::int64_t> reads_;
  std::unordered_map<std::uint64_t, Count> counts_;
};

}  // namespace towerflow::parallel::types

namespace towerflow::parallel {

/// Returns the hash of each row of `batch`. Throws ValueError for a scalar.
std::vector<std::uint64_t> hash_rows(const Array& batch, Site site = Site::current());

}  // namespace towerflow::parallel
