#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/graph/attr_fields.h"
#include "data/compression.h"

namespace towerflow::data {

/// The records of one file, one after another: what a reader of the graph makes of each file.
///
/// Memory: one record and fixed buffers. A record over `kMaxRecordBytes` is a
/// ResourceExhaustedError; the errors of opening and decoding carry the file's name.
class RecordFile {
 public:
  virtual ~RecordFile() = default;
  /// The next record into `record`, whose memory is used again; false at the end of the file.
  virtual bool next(std::string& record) = 0;
  /// The position of the next record, as in its key. It only grows; its unit depends on the format.
  virtual std::uint64_t position() const = 0;
};

inline constexpr std::uint64_t kMaxRecordBytes = 1ULL << 30;

/// How files are cut into records.
struct RecordFormat {
  std::function<std::unique_ptr<RecordFile>(const std::string& path)> open;
  const char* place_unit = "byte";  ///< what places count, for messages: "record at byte 7"
  bool key_is_path = false;         ///< a key is "path", otherwise "path:place"
};

/// TFRecord files; the place is the byte at which a record begins. Absent `compression` looks at
/// each file.
RecordFormat tfrecord_format(std::optional<Compression> compression);

/// Which bytes of a file are records of one length.
struct FixedLength {
  std::uint64_t record_bytes = 0;  ///< at least 1
  std::uint64_t header_bytes = 0;  ///< before the first record
  std::uint64_t footer_bytes = 0;  ///< at the end, part of no record
  std::uint64_t hop_bytes = 0;     ///< from one record's beginning to the next; 0: record_bytes
  Compression compression = Compression::none;
  static constexpr auto fields =
      std::tuple{attr::required("record_bytes", &FixedLength::record_bytes),
                 attr::field("header_bytes", &FixedLength::header_bytes),
                 attr::field("footer_bytes", &FixedLength::footer_bytes),
                 attr::field("hop_bytes", &FixedLength::hop_bytes),
                 attr::field("encoding", &FixedLength::compression)};
  bool operator==(const FixedLength&) const = default;
};

/// Records of one length; the place counts them from 0. Bytes at the end that make no whole record
/// are passed over, as TensorFlow does.
RecordFormat fixed_length_format(FixedLength layout);

/// Lines, without their ends ("\n" or "\r\n"); the place counts them from 1, and the first
/// `skip_lines` are passed over.
RecordFormat text_line_format(std::uint64_t skip_lines);

/// The whole file is one record.
RecordFormat whole_file_format();

}  // namespace towerflow::data
