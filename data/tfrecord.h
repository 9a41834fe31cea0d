#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data/compression.h"

namespace towerflow::data {

// A record is stored as
//   uint64 length | uint32 masked CRC-32C of the length | data | uint32 masked CRC-32C of the data
// in little endian (tensorflow/core/lib/io/record_writer.h). Event files are the same.

inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::size_t kRecordFooterBytes = 4;

/// The 12 bytes before the data of a record of `length` bytes.
std::array<std::byte, kRecordHeaderBytes> record_header(std::uint64_t length) noexcept;
/// The 4 bytes after `data`.
std::array<std::byte, kRecordFooterBytes> record_footer(std::string_view data) noexcept;
/// Whether bytes begin with such a header: its checksum fits.
bool is_record_header(std::span<const std::byte> bytes) noexcept;

/// How a TFRecord file is read; absent `compression` looks at the file: gzip where it begins as
/// gzip does, plain otherwise. zlib has no safe mark and must be named.
struct TFRecordReadOptions {
  std::optional<Compression> compression = std::nullopt;
  /// A record above this is refused with ResourceExhaustedError before memory is taken for it.
  std::uint64_t max_record_bytes = 1ULL << 30;
};

/// Reads the records of a file in order, each checked by both checksums.
///
/// Errors name file, record (counted from 0) and byte (of the decoded data when compressed):
/// DataLossError "truncated record ..." where the file ends inside a record, "corrupted record ..."
/// where a checksum does not fit. After an error every further call throws it again. A length is
/// believed only once its checksum fits, and memory for a record is taken only as far as the file
/// can hold it.
class TFRecordReader {
 public:
  explicit TFRecordReader(std::filesystem::path path, TFRecordReadOptions options = {});

  /// The next record into `record`, whose memory is used again; false at the end of the file.
  bool next(std::string& record);
  /// The next record, or nothing at the end of the file.
  std::optional<std::string> next();
  /// Passes over `count` records, which are checked as if read; returns how many there were.
  std::uint64_t skip(std::uint64_t count);

  const std::filesystem::path& path() const { return input_.path(); }
  /// Records returned so far, which is the number of the next one.
  std::uint64_t records_read() const { return records_; }
  /// Where the next record begins, in bytes of the decoded data.
  std::uint64_t byte_offset() const { return offset_; }
  /// How far the reading is in the file as it is stored, for progress.
  std::uint64_t stored_position() const { return input_.stored_position(); }
  Compression compression() const { return input_.compression(); }

 private:
  bool read_record(std::string& record);
  std::uint64_t read_length(std::span<const std::byte> header) const;
  std::string position_text() const;
  [[noreturn]] void fail_truncated(const std::string& part, std::uint64_t wanted,
                                   std::uint64_t found) const;

  DecodingInput input_;
  TFRecordReadOptions options_;
  std::uint64_t records_ = 0;
  std::uint64_t offset_ = 0;
  std::optional<errors::OpError> failure_;
};

/// How a TFRecord file is written.
struct TFRecordWriteOptions {
  Compression compression = Compression::none;
  int level = kDefaultCompressionLevel;
};

/// Writes records into a file that appears at `path` only when `close` succeeds; a writer that is
/// destroyed before leaves nothing behind and an older file untouched.
class TFRecordWriter {
 public:
  explicit TFRecordWriter(std::filesystem::path path, TFRecordWriteOptions options = {});

  void write(std::string_view record);
  /// Call it once, after the last record.
  void close();

  const std::filesystem::path& path() const { return file_.path(); }
  std::uint64_t records_written() const { return records_; }

 private:
  EncodingFile file_;
  std::uint64_t records_ = 0;
};

}  // namespace towerflow::data
