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
/// Writes two files: PREFIX.data-00000-of-00001 with the values and PREFIX.index with names,
/// dtypes, shapes and checksums. Both are identical to TensorFlow's, byte for byte, for the same
/// tensors added in the same order; TensorFlow's Saver adds them in name order. Values are written
/// as they are added; only one index record per tensor is kept in memory. Nothing is visible before
/// `finish`; the index, which makes the checkpoint valid, appears last.
class TensorBundleWriter {
 public:
  /// Creates the folder of `prefix` if only its last level is missing, as TensorFlow does. Throws
  /// InvalidArgumentError for a prefix without a file name, and the errors of creating a file.
  explicit TensorBundleWriter(const std::filesystem::path& prefix);

  /// Appends a value; names may come in any order. Throws InvalidArgumentError for a name that is
  /// empty, repeated or begins with a zero byte, for an empty Array and for a resource;
  /// FailedPreconditionError after `finish`; and write errors, after which the object can only be
  /// destroyed.
  void add(std::string_view name, const Array& value);

  /// Flushes both files to disk and makes them visible under their names. A checkpoint without
  /// tensors is allowed.
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
