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

/// The smallest and largest of some numbers.
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

/// The content of a file's Examples under one feature name.
struct FeatureSummary {
  std::string name;            ///< at most the first 256 bytes
  std::uint64_t examples = 0;  ///< Examples that have the feature
  /// How many of them hold no list, a bytes_list, a float_list, an int64_list.
  std::array<std::uint64_t, 4> kinds{};
  Range<std::uint64_t> values;  ///< number of values in one Example
  Range<std::uint64_t> bytes;   ///< length of one value of a bytes_list
  Range<std::int64_t> ints;     ///< values of int64_lists
  Range<float> floats;          ///< values of float_lists except NaN
  std::uint64_t nan = 0;        ///< NaN values of float_lists
  /// The first values of the first Example that has any; of a bytes value the first 64 bytes.
  std::vector<std::string> first_bytes;
  std::vector<float> first_floats;
  std::vector<std::int64_t> first_ints;
};

/// The content of a TFRecord file.
struct RecordSummary {
  Compression compression = Compression::none;
  std::uint64_t records = 0;          ///< intact ones up to the end or the damage
  std::uint64_t bytes = 0;            ///< occupied by these records, decompressed
  Range<std::uint64_t> record_bytes;  ///< size of one record's data
  std::uint64_t examples = 0;  ///< records that are a tf.train.Example with at least one feature
  std::vector<FeatureSummary> features;   ///< sorted by name, at most kMaxFeatures
  std::uint64_t features_left_out = 0;    ///< features beyond these, counted once per Example
  std::optional<errors::OpError> damage;  ///< why reading stopped early: record and byte
};

/// The number of feature names that are summarized; features with further names are only counted.
inline constexpr std::size_t kMaxFeatures = 1000;

/// Reads a TFRecord file to its end and summarizes it; damage ends the reading and is reported in
/// the result. `progress`, if given, is called after each record with the stored bytes read so far.
///
/// Memory: one record (1 GiB at most) and kMaxFeatures summaries, whatever the file's size. Throws
/// only the errors of opening the file.
RecordSummary summarize_records(const std::filesystem::path& path, Compression compression,
                                const std::function<void(std::uint64_t)>& progress = {});

}  // namespace towerflow::data
