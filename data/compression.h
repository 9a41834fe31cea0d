#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/compression_kind.h"
#include "data/file.h"

struct z_stream_s;

namespace towerflow::data {

/// zlib's levels go from 1 (fastest) to 9 (smallest); the default is zlib's own (6).
inline constexpr int kDefaultCompressionLevel = -1;

/// Returns whether bytes begin as a gzip member does (RFC 1952: two magic bytes, then method 8).
bool has_gzip_magic(std::span<const std::byte> bytes) noexcept;

/// A file that is decompressed while it is read sequentially. Memory: two fixed buffers, whatever
/// the file's size.
class DecodingInput {
 public:
  /// Opens the file, as uncompressed until `set_compression` is called.
  explicit DecodingInput(std::filesystem::path path);
  ~DecodingInput();
  DecodingInput(const DecodingInput&) = delete;
  DecodingInput& operator=(const DecodingInput&) = delete;

  const std::filesystem::path& path() const { return file_.path(); }
  /// Returns the first bytes of the file as stored, at most `count`; only before the first `read`.
  std::span<const std::byte> peek_stored(std::size_t count);
  void set_compression(Compression compression);
  Compression compression() const { return compression_; }

  /// Fills `out` with the next decoded bytes and returns their number, which is smaller than asked
  /// for only at the end. Concatenated gzip members are read as one stream. Throws DataLossError
  /// for damaged or truncated compressed data.
  std::size_t read(std::span<std::byte> out);
  /// Appends up to `count` decoded bytes to `text` and returns how many; fewer only at the end. The
  /// text grows as bytes arrive, so that a count larger than the file allocates at most twice the
  /// file's data plus 1 MiB.
  std::size_t append_to(std::string& text, std::uint64_t count);

  /// Decoded bytes read so far.
  std::uint64_t position() const { return position_; }
  /// Stored bytes consumed so far, to within a buffer; for progress reports.
  std::uint64_t stored_position() const { return file_.position(); }
  /// Decoded bytes still to come, if known: for uncompressed files that have a size. If fewer than
  /// `wanted` were left when the file was opened, asks for its size again, since it may have grown.
  std::optional<std::uint64_t> remaining(std::uint64_t wanted = 0) const;

 private:
  struct InflateEnd {
    void operator()(z_stream_s* stream) const noexcept;
  };

  bool fill();
  std::size_t read_plain(std::span<std::byte> out);
  std::size_t read_decoded(std::span<std::byte> out);
  std::size_t inflate_some(std::span<std::byte> out);
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_decoding() const;

  InputFile file_;
  Compression compression_ = Compression::none;
  std::vector<std::byte> buffer_;  ///< stored bytes; [begin_, end_) are not consumed yet
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t position_ = 0;
  std::unique_ptr<z_stream_s, InflateEnd> stream_;
  std::vector<std::byte> decoded_;  ///< [decoded_begin_, decoded_end_) are not read yet
  std::size_t decoded_begin_ = 0;
  std::size_t decoded_end_ = 0;
  bool member_open_ = false;  ///< between the first and the last byte of a gzip member
  bool any_member_ = false;
  int error_ = 0;  ///< zlib's error code, once one occurred
};

/// An AtomicFile that compresses its content. Equal input gives equal files: the gzip header has no
/// time and no name.
class EncodingFile {
 public:
  EncodingFile(std::filesystem::path path, Compression compression,
               int level = kDefaultCompressionLevel);
  ~EncodingFile();
  EncodingFile(const EncodingFile&) = delete;
  EncodingFile& operator=(const EncodingFile&) = delete;

  const std::filesystem::path& path() const { return file_.path(); }
  void append(std::span<const std::byte> bytes);
  void append(std::string_view bytes) { append(bytes_of(bytes)); }
  /// Ends the compressed stream and makes the file visible, like AtomicFile::commit.
  void commit();

 private:
  struct DeflateEnd {
    void operator()(z_stream_s* stream) const noexcept;
  };

  void deflate_all(std::span<const std::byte> bytes, bool last);

  AtomicFile file_;
  std::unique_ptr<z_stream_s, DeflateEnd> stream_;  ///< null if uncompressed
  std::vector<std::byte> buffer_;
};

}  // namespace towerflow::data
