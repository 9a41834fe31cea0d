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

/// What a checkpoint says about one of its tensors.
struct TensorInfo {
  std::string name;
  DType dtype = DType::invalid;  ///< invalid for a type of TensorFlow that this library lacks
  Shape shape;                   ///< fully known
  std::uint64_t bytes = 0;       ///< in the data file
  bool sliced = false;           ///< stored in parts, as TensorFlow does with partitioned variables
  int shard = 0;                 ///< which data file
  std::uint64_t offset = 0;      ///< where in it
};

/// Reads a checkpoint in TensorFlow's V2 format ("tensor bundle").
///
/// The index is read and checked once; values are read on demand, from one data file or many. The
/// files need not be trusted: every checksum is verified and every size is held against the file
/// before memory is taken. Every function may be called from several threads.
class TensorBundleReader {
 public:
  /// `prefix` is what was given to save: without ".index". Throws NotFoundError without an index
  /// file, DataLossError for a damaged one, UnimplementedError for one from a big-endian machine or
  /// a future version.
  explicit TensorBundleReader(std::filesystem::path prefix);

  const std::filesystem::path& prefix() const { return prefix_; }
  /// Number of data files, which `bundle_data_path` names.
  int shards() const { return shards_; }
  /// All tensors, ordered by name.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  bool contains(std::string_view name) const;
  /// Throws NotFoundError for a name that the checkpoint does not hold.
  const TensorInfo& info(std::string_view name) const;

  /// The value. Throws NotFoundError for an absent name or data file, DataLossError for a damaged
  /// value, UnimplementedError for a sliced tensor and for a dtype that this library lacks,
  /// ResourceExhaustedError when memory does not suffice.
  Array read(std::string_view name) const;

 private:
  struct Location {
    int dtype = 0;  // as in the file
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
  std::vector<Location> locations_;  // of the tensor at the same place

  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<InputFile>> files_;  // those opened so far
};

}  // namespace towerflow
