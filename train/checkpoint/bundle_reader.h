#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/array.h"
#include "data/file.h"

namespace towerflow {

/// The metadata of one tensor in a checkpoint.
struct TensorInfo {
  std::string name;
  DType dtype = DType::invalid;  ///< invalid for a TensorFlow dtype that this library lacks
  Shape shape;                   ///< fully known
  std::uint64_t bytes = 0;       ///< in the data file
  bool sliced = false;           ///< stored in parts, as TensorFlow does with partitioned variables
  int shard = 0;                 ///< index of the data file
  std::uint64_t offset = 0;      ///< of the value in the data file
};

/// Reads a checkpoint in TensorFlow's V2 format ("tensor bundle").
///
/// The index is read and checked once; values are read on demand, from one data file or many. The
/// files need not be trusted: every checksum is verified, and every size is checked against the
/// file before memory is allocated. Thread-safe.
class TensorBundleReader {
 public:
  /// `prefix` is what was passed to save, without ".index". Throws NotFoundError if there is no
  /// index file, DataLossError if it is damaged, UnimplementedError if it is from a big-endian
  /// machine or a future version.
  explicit TensorBundleReader(std::filesystem::path prefix);

  const std::filesystem::path& prefix() const { return prefix_; }
  /// Number of data files; `bundle_data_path` gives their names.
  int shards() const { return shards_; }
  /// All tensors, ordered by name.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  bool contains(std::string_view name) const;
  /// Throws NotFoundError for a name that is not in the checkpoint.
  const TensorInfo& info(std::string_view name) const;

  /// Returns the value of a tensor. Throws NotFoundError if the name or data file is missing,
  /// DataLossError if the value is damaged, UnimplementedError for a sliced tensor or a dtype that
  /// this library lacks, ResourceExhaustedError if memory does not suffice.
  Array read(std::string_view name) const;

 private:
  struct Location {
    int dtype = 0;  // the number in the file
    std::uint32_t masked_crc = 0;
  };

  void read_header(std::string_view record);
  void read_entry(std::string_view name, std::string_view record);
  std::size_t position(std::string_view name) const;
  const InputFile& shard_file(int shard) const;
  Array read_value(const TensorInfo& info, const Location& location, const InputFile& file) const;

  std::filesystem::path prefix_;
  int shards_ = 0;
  std::vector<TensorInfo> tensors_;
  std::vector<Location> locations_;  // parallel to tensors_

  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<InputFile>> files_;  // opened so far, by shard
};

}  // namespace towerflow
