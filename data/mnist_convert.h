#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "data/tfrecord.h"

namespace towerflow::data {

/// The options of `convert_mnist`. `max_*` limits a set to its first digits; absent means all, and
/// 0 writes no file for the set.
struct MnistConvertOptions {
  /// gzip adds ".gz" to the file names, zlib ".zlib".
  Compression compression = Compression::none;
  int level = kDefaultCompressionLevel;
  std::int64_t validation_size = 5000;  ///< the first digits of the training set
  std::optional<std::int64_t> max_train = std::nullopt;
  std::optional<std::int64_t> max_validation = std::nullopt;
  std::optional<std::int64_t> max_test = std::nullopt;
  /// Whether each Example has the features height, width and depth as well (28, 28, 1).
  bool with_geometry = true;
  /// Called from time to time with the digits written so far and in total.
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
};

/// The number of Examples written, per set.
struct MnistCounts {
  std::int64_t train = 0;
  std::int64_t validation = 0;
  std::int64_t test = 0;
};

/// Converts MNIST's four IDX files (plain or gzip) to `train.tfrecords` (55,000 Examples),
/// `validation.tfrecords` (5,000) and `test.tfrecords` (10,000) in `out_dir`, which is created if
/// missing. An Example has `image_raw` (784 bytes, row by row), `label` (int64) and the geometry;
/// Examples are in the order of the source files. As in TensorFlow's convert_to_records.py of that
/// time, the first 5,000 digits of the training set are the validation set.
///
/// The files appear when all are written; an earlier error leaves existing ones untouched. Then
/// files of an earlier conversion that would be mistaken for these are deleted: those of the same
/// set with another compression ("train.tfrecords.gz" beside "train.tfrecords") and those of a set
/// that now gets no digits. Throws what `read_mnist_set` throws, InvalidArgumentError for limits
/// below 0 or a validation set larger than the training set, and errors of writing.
MnistCounts convert_mnist(const std::filesystem::path& idx_dir,
                          const std::filesystem::path& out_dir,
                          const MnistConvertOptions& options = {});

}  // namespace towerflow::data
