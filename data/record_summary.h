#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/compression.h"

namespace towerflow::data {

/// Smallest and largest of some numbers.
template <class T>
struct Range {
  T least = std::numeric_limits<T>::max();
  T most = std::numeric_limits<T>::lowest();

  void add(T value) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  bool empty() const { return most < least; }
};

/// What the Examples of a file hold under one name.
struct FeatureSummary {
  std::string name;            ///< its first 256 bytes
  std::uint64_t examples = 0;  ///< that have the feature
  /// How many hold no list, a bytes_list, a float_list, an int64_list.
  std::array<std::uint64_t, 4> kinds{};
  Range<std::uint64_t> values;  ///< in one Example
  Range<std::uint64_t> bytes;   ///< of one value of a bytes_list
  Range<std::int64_t> ints;     ///< the values of int64_lists
  Range<float> floats;          ///< the values of float_lists but NaN
  std::uint64_t nan = 0;        ///< values of float_lists
  /// The first values of the first Example that has any; of a value of bytes the first 64.
  std::vector<std::string> first_bytes;
  std::vector<float> first_floats;
  std::vector<std::int64_t> first_ints;
};

/// What a TFRecord file holds.
struct RecordSummary {
  Compression compression = Compression::none;
  std::uint64_t records = 0;              ///< whole ones, up to the end or the damage
  std::uint64_t bytes = 0;                ///< that they take, decompressed
  Range<std::uint64_t> record_bytes;      ///< of one record's data
  std::uint64_t examples = 0;             ///< records that are a tf.train.Example with a feature
  std::vector<FeatureSummary> features;   ///< by name, at most kMostFeatures
  std::uint64_t features_left_out = 0;    ///< further features, once an Example
  std::optional<errors::OpError> damage;  ///< why the reading ended early: record and byte
};

/// More names than this are counted and not told apart.
inline constexpr std::size_t kMostFeatures = 1000;

/// Reads a TFRecord file to its end and says what it holds; damage ends the reading and is part of
/// the answer. `progress`, when given, is called after each record with the stored bytes read so
/// far.
///
/// Memory: one record (1 GiB at most), and kMostFeatures summaries, whatever the file.
/// Throws what opening the file throws.
RecordSummary summarize_records(const std::filesystem::path& path, Compression compression,
                                const std::function<void(std::uint64_t)>& progress = {});

}  // namespace towerflow::data
