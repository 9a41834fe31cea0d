#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/graph/attr_fields.h"
#include "data/compression.h"
#include "data/record_share.h"

namespace towerflow::data {

/// The records of one file in order: the interface between reader ops and file formats.
///
/// Memory: one record and fixed buffers. A record over `kMaxRecordBytes` is a
/// ResourceExhaustedError; errors of opening and decoding contain the file's name.
class RecordFile {
 public:
  virtual ~RecordFile() = default;
  /// Reads the next record into `record`, reusing its memory; returns false at the end of the file.
  virtual bool next(std::string& record) = 0;
  /// Returns the place of the next record, as in its key. It only grows; its unit depends on the
  /// format.
  virtual std::uint64_t position() const = 0;
};

inline constexpr std::uint64_t kMaxRecordBytes = 1ULL << 30;

/// How files are split into records.
struct RecordFormat {
  std::function<std::unique_ptr<RecordFile>(const std::string& path)> open;
  const char* place_unit = "byte";  ///< the unit of places, for messages: "record at byte 7"
  bool key_is_path = false;         ///< whether a key is "path" instead of "path:place"
};

/// Returns the file with the records of a share alone.
std::unique_ptr<RecordFile> share_of_records(std::unique_ptr<RecordFile> file, RecordShare share);

/// TFRecord files; the place is the byte at which a record begins. If `compression` is absent, it
/// is detected for each file.
RecordFormat tfrecord_format(std::optional<Compression> compression);

/// The layout of a file with records of one length.
struct FixedLength {
  std::uint64_t record_bytes = 0;  ///< at least 1
  std::uint64_t header_bytes = 0;  ///< before the first record
  std::uint64_t footer_bytes = 0;  ///< at the end of the file, after the last record
  std::uint64_t hop_bytes = 0;     ///< from one record's start to the next; 0: record_bytes
  Compression compression = Compression::none;
  static constexpr auto fields =
      std::tuple{attr::required("record_bytes", &FixedLength::record_bytes),
                 attr::field("header_bytes", &FixedLength::header_bytes),
                 attr::field("footer_bytes", &FixedLength::footer_bytes),
                 attr::field("hop_bytes", &FixedLength::hop_bytes),
                 attr::field("encoding", &FixedLength::compression)};
  bool operator==(const FixedLength&) const = default;
};

/// Records of one length; the place counts them from 0. A partial record at the end is skipped, as
/// in TensorFlow.
RecordFormat fixed_length_format(FixedLength layout);

/// Lines, without their ends ("\n" or "\r\n"); the place counts them from 1, and the first
/// `skip_lines` are skipped.
RecordFormat text_line_format(std::uint64_t skip_lines,
                              Compression compression = Compression::none);

/// The whole file is one record.
RecordFormat whole_file_format();

}  // namespace towerflow::data
