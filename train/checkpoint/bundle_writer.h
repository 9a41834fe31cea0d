#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/array.h"
#include "data/file.h"
#include "train/checkpoint/index_table.h"

namespace towerflow {

/// Writes named Arrays as a checkpoint in TensorFlow's V2 format ("tensor bundle").
///
/// Two files: PREFIX.data-00000-of-00001 with the values and PREFIX.index with names, dtypes,
/// shapes and checksums. For the same tensors added in the same order both are TensorFlow's, byte
/// for byte; its Saver adds in the order of the names. Values go to the file as they are added;
/// memory is one index record a tensor. Nothing is visible before `finish`, and the index, which
/// makes a checkpoint of the files, appears last.
class TensorBundleWriter {
 public:
  /// Makes the folder of `prefix` when only that last folder is missing, as TensorFlow does. Throws
  /// InvalidArgumentError for a prefix without a file name and what creating a file throws.
  explicit TensorBundleWriter(const std::filesystem::path& prefix);

  /// Appends a value; names may come in any order. Throws InvalidArgumentError for an empty name,
  /// one added before, an empty Array and a resource; FailedPreconditionError after `finish`; what
  /// writing throws, after which the object can only be destroyed.
  void add(std::string_view name, const Array& value);

  /// Writes both files through to the disk and makes them visible under their names. A checkpoint
  /// without tensors is allowed.
  void finish();

 private:
  std::uint32_t append_bytes(std::span<const std::byte> bytes, std::uint32_t crc);
  std::uint32_t append_strings(std::span<const std::string> strings);

  std::filesystem::path prefix_;
  AtomicFile data_;
  IndexRecords records_;
  bool finished_ = false;
};

}  // namespace towerflow
