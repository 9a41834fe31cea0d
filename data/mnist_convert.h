#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "data/tfrecord.h"

namespace towerflow::data {

/// How many digits of a set `convert_mnist` takes at most, the first ones; absent is all of them.
/// 0 writes no file for the set.
struct MnistConvertOptions {
  /// gzip adds ".gz" to the names, zlib ".zlib".
  Compression compression = Compression::none;
  int level = kDefaultCompressionLevel;
  std::int64_t validation_size = 5000;  ///< digits at the start of the training set
  std::optional<std::int64_t> max_train = std::nullopt;
  std::optional<std::int64_t> max_validation = std::nullopt;
  std::optional<std::int64_t> max_test = std::nullopt;
  /// Whether each Example carries height, width and depth as well (28, 28, 1).
  bool with_geometry = true;
  /// Called now and then with the digits written so far and in all.
  std::function<void(std::int64_t done, std::int64_t total)> progress{};
};

/// Examples written, by set.
struct MnistCounts {
  std::int64_t train = 0;
  std::int64_t validation = 0;
  std::int64_t test = 0;
};

/// Writes MNIST's four IDX files (plain or gzip) as `train.tfrecords` (55,000 Examples),
/// `validation.tfrecords` (5,000) and `test.tfrecords` (10,000) into `out_dir`, which is made where
/// absent. An Example holds `image_raw` (784 bytes, row by row), `label` (int64) and the geometry,
/// in the order of the source files. As TensorFlow's convert_to_records.py of that time, the first
/// 5,000 digits of the training set are the validation set, the others the training set.
///
/// The files appear when all are written; an error before leaves older ones untouched. Then what
/// an earlier conversion wrote of the same sets under other names, "train.tfrecords.gz" beside
/// "train.tfrecords", is deleted, and so are files of a set that now gets no digit. Errors:
/// those of `read_mnist_set`, InvalidArgumentError for limits below 0 or a validation set larger
/// than the training set, and those of writing.
MnistCounts convert_mnist(const std::filesystem::path& idx_dir,
                          const std::filesystem::path& out_dir,
                          const MnistConvertOptions& options = {});

}  // namespace towerflow::data
