#pragma once

#include <optional>
#include <string>

#include "dataset/dataset.h"

namespace towerflow::data::types {

/// The names of the files that a dataset reads: a string or a list of strings, a tensor of strings,
/// or a dataset of strings.
class FileNames {
 public:
  template <OperandValue T>
  FileNames(const T& names, Site site = Site::current())
      : names_(Operand(names, site)) {}  // NOLINT
  template <class = void>
  FileNames(const std::initializer_list<Nested>& names, Site site = Site::current())  // NOLINT
      : names_(Operand(Nested(names), site)) {}
  template <std::same_as<Dataset> T>
  FileNames(const T& dataset) : dataset_(dataset) {}  // NOLINT

  // Twins, which keep options from being taken for names; see core/graph/arguments.h.
  explicit FileNames(bool value, Site site = Site::current()) : names_(Operand(value, site)) {}
  explicit FileNames(int value, Site site = Site::current()) : names_(Operand(value, site)) {}
  explicit FileNames(std::int64_t value, Site site = Site::current())
      : names_(Operand(value, site)) {}
  explicit FileNames(double value, Site site = Site::current()) : names_(Operand(value, site)) {}
  explicit FileNames(const char* name, Site site = Site::current()) : names_(Operand(name, site)) {}
  explicit FileNames(const std::string& name, Site site = Site::current())
      : names_(Operand(name, site)) {}
  explicit FileNames(const Tensor& names, Site site = Site::current())
      : names_(Operand(names, site)) {}
  template <class Item = Nested>
  FileNames(const TwinList<Item>& names, Site site = Site::current()) = delete;

  /// Returns a dataset of the names.
  Dataset dataset(Site site) const;

 private:
  std::optional<Operand> names_;
  Dataset dataset_;
};

struct RecordDatasetOptions {
  std::string compression_type{};  ///< "", "ZLIB" or "GZIP"
  std::int64_t buffer_size = 0;    ///< accepted and ignored: buffers have a fixed size
  /// Number of files that are read in turns; absent: one after another.
  std::optional<std::int64_t> num_parallel_reads{};
};

/// Reads the records of TFRecord files.
///
/// errors   TypeError: names that are not strings; ValueError: an unknown compression; at run time
///          those of data::TFRecordReader
/// source   tf.data.TFRecordDataset
class TFRecordDataset : public Dataset {
 public:
  explicit TFRecordDataset(const FileNames& filenames, RecordDatasetOptions options = {},
                           Site site = Site::current());
};

/// Reads the lines of files, without their ends.
///
/// errors   as TFRecordDataset
/// source   tf.data.TextLineDataset
class TextLineDataset : public Dataset {
 public:
  explicit TextLineDataset(const FileNames& filenames, RecordDatasetOptions options = {},
                           Site site = Site::current());
};

struct FixedLengthRecordDatasetOptions {
  std::int64_t header_bytes = 0;  ///< before the first record of a file
  std::int64_t footer_bytes = 0;  ///< after the last record of a file
  std::int64_t buffer_size = 0;   ///< accepted and ignored: buffers have a fixed size
  std::string compression_type{};
  std::optional<std::int64_t> num_parallel_reads{};
};

/// Reads records of one length.
///
/// errors   as TFRecordDataset; at run time InvalidArgumentError: lengths below 0, a file that does
///          not consist of whole records
/// source   tf.data.FixedLengthRecordDataset
class FixedLengthRecordDataset : public Dataset {
 public:
  FixedLengthRecordDataset(const FileNames& filenames, std::int64_t record_bytes,
                           FixedLengthRecordDatasetOptions options = {},
                           Site site = Site::current());
};

}  // namespace towerflow::data::types
