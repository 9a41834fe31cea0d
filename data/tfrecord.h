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
// in little endian (tensorflow/core/lib/io/record_writer.h). Event files have the same format.

inline constexpr std::size_t kRecordHeaderBytes = 12;
inline constexpr std::size_t kRecordFooterBytes = 4;

/// Returns the 12 bytes before the data of a record of `length` bytes.
std::array<std::byte, kRecordHeaderBytes> record_header(std::uint64_t length) noexcept;
/// Returns the 4 bytes after `data`.
std::array<std::byte, kRecordFooterBytes> record_footer(std::string_view data) noexcept;
/// Returns whether bytes begin with a record header, that is, one with the right checksum.
bool is_record_header(std::span<const std::byte> bytes) noexcept;

/// How a TFRecord file is read. If `compression` is absent, a file that begins like gzip is read as
/// gzip, any other as plain; zlib has no reliable magic number and must be specified.
struct TFRecordReadOptions {
  std::optional<Compression> compression = std::nullopt;
  /// Larger records throw ResourceExhaustedError before memory is allocated for them.
  std::uint64_t max_record_bytes = 1ULL << 30;
};

/// Reads the records of a file in order and verifies both checksums of each.
///
/// Errors contain the file, the record (counted from 0) and the byte (of the decoded data if
/// compressed): DataLossError "truncated record ..." if the file ends inside a record, "corrupted
/// record ..." if a checksum does not match. After an error, every further call throws it again. A
/// length is trusted only after its checksum matched, and memory for a record is allocated only as
/// far as the file can contain it.
class TFRecordReader {
 public:
  explicit TFRecordReader(std::filesystem::path path, TFRecordReadOptions options = {});

  /// Reads the next record into `record`, reusing its memory; returns false at the end of the file.
  bool next(std::string& record);
  /// Returns the next record, or nothing at the end of the file.
  std::optional<std::string> next();
  /// Skips `count` records, which are verified as if read; returns how many there were.
  std::uint64_t skip(std::uint64_t count);

  const std::filesystem::path& path() const { return input_.path(); }
  /// The number of records read so far, which is the index of the next one.
  std::uint64_t records_read() const { return records_; }
  /// Where the next record begins, in bytes of the decoded data.
  std::uint64_t byte_offset() const { return offset_; }
  /// Stored bytes consumed so far; for progress reports.
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
/// destroyed before that leaves nothing behind and an existing file untouched.
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
