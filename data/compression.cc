#include "data/compression.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace towerflow::data {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr std::size_t kFirstGrowth = 1 << 20;

// zlib's windowBits: 15 is the largest window, +16 asks for gzip's header and trailer.
int window_bits(Compression compression) { return compression == Compression::gzip ? 15 + 16 : 15; }

Bytef* zlib_bytes(const std::byte* bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}

uInt zlib_count(std::size_t count) {
  return static_cast<uInt>(std::min<std::size_t>(count, std::numeric_limits<uInt>::max()));
}

void check_zlib(int result, const std::filesystem::path& path) {
  if (result == Z_OK) return;
  const std::string message =
      fmt::format("cannot start zlib for {}: {}", path.string(), ::zError(result));
  if (result == Z_MEM_ERROR) throw errors::ResourceExhaustedError(message);
  throw errors::InvalidArgumentError(message);
}

}  // namespace

bool has_gzip_magic(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 3 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} &&
         bytes[2] == std::byte{8};
}

void DecodingInput::InflateEnd::operator()(z_stream_s* stream) const noexcept {
  ::inflateEnd(stream);
  delete stream;
}

DecodingInput::DecodingInput(std::filesystem::path path)
    : file_(std::move(path)), buffer_(kBufferBytes) {}

DecodingInput::~DecodingInput() = default;

std::span<const std::byte> DecodingInput::peek_stored(std::size_t count) {
  if (begin_ == end_) fill();
  return std::span<const std::byte>(buffer_).subspan(begin_, std::min(count, end_ - begin_));
}

bool DecodingInput::fill() {
  begin_ = end_ = 0;
  end_ = file_.read(buffer_);
  return end_ > 0;
}

void DecodingInput::set_compression(Compression compression) {
  compression_ = compression;
  stream_.reset();
  if (compression == Compression::none) return;
  auto stream = std::make_unique<z_stream_s>();
  std::memset(stream.get(), 0, sizeof *stream);
  check_zlib(::inflateInit2(stream.get(), window_bits(compression)), path());
  stream_.reset(stream.release());
  decoded_.resize(kBufferBytes);
}

std::optional<std::uint64_t> DecodingInput::remaining(std::uint64_t wanted) const {
  if (compression_ != Compression::none || !file_.size()) return std::nullopt;
  const auto bytes_past_position = [&](std::uint64_t size) {
    return size > position_ ? size - position_ : 0;
  };
  const std::uint64_t left = bytes_past_position(*file_.size());
  return left < wanted ? bytes_past_position(*file_.size_now()) : left;
}

std::size_t DecodingInput::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::span<std::byte> rest = out.subspan(done);
    const std::size_t count = stream_ ? read_decoded(rest) : read_plain(rest);
    if (count == 0) break;
    done += count;
  }
  position_ += done;
  return done;
}

std::size_t DecodingInput::append_to(std::string& text, std::uint64_t count) {
  const std::size_t start = text.size();
  std::size_t growth = kFirstGrowth;
  while (text.size() - start < count) {
    const std::size_t had = text.size();
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(count - (had - start), growth));
    text.resize(had + wanted);
    const std::size_t found = read(std::as_writable_bytes(std::span(text).subspan(had)));
    if (found < wanted) {
      text.resize(had + found);
      break;
    }
    growth = text.size() - start;
  }
  return text.size() - start;
}

std::size_t DecodingInput::read_plain(std::span<std::byte> out) {
  if (begin_ == end_) {
    if (out.size() >= buffer_.size()) return file_.read(out);
    if (!fill()) return 0;
  }
  const std::size_t count = std::min(out.size(), end_ - begin_);
  std::memcpy(out.data(), buffer_.data() + begin_, count);
  begin_ += count;
  return count;
}

void DecodingInput::fail(const std::string& what) const {
  throw errors::DataLossError(fmt::format("{}: compressed data {} at byte {} of the file",
                                          path().string(), what,
                                          file_.position() - (end_ - begin_)));
}

void DecodingInput::fail_decoding() const {
  if (error_ == Z_MEM_ERROR)
    throw errors::ResourceExhaustedError(
        fmt::format("out of memory inflating {}", path().string()));
  fail(fmt::format("is damaged ({})", stream_->msg != nullptr ? stream_->msg : ::zError(error_)));
}

// Decodes into a buffer, so that many small reads share one call of zlib, which is slow to start.
std::size_t DecodingInput::read_decoded(std::span<std::byte> out) {
  if (decoded_begin_ == decoded_end_) {
    if (out.size() >= decoded_.size()) return inflate_some(out);
    decoded_begin_ = decoded_end_ = 0;
    decoded_end_ = inflate_some(decoded_);
  }
  const std::size_t count = std::min(out.size(), decoded_end_ - decoded_begin_);
  std::memcpy(out.data(), decoded_.data() + decoded_begin_, count);
  decoded_begin_ += count;
  return count;
}

// Decodes at least one byte; returns 0 only at the end of the data.
std::size_t DecodingInput::inflate_some(std::span<std::byte> out) {
  while (true) {
    // An error is reported only after the bytes decoded before it were read.
    if (error_ != Z_OK) fail_decoding();
    if (begin_ == end_ && !fill()) {
      if (member_open_ || !any_member_) fail("is truncated");
      return 0;
    }
    if (!member_open_) {
      if (any_member_ && compression_ == Compression::zlib) fail("is followed by other bytes");
      if (any_member_) check_zlib(::inflateReset(stream_.get()), path());
      member_open_ = any_member_ = true;
    }
    stream_->next_in = zlib_bytes(buffer_.data() + begin_);
    stream_->avail_in = zlib_count(end_ - begin_);
    stream_->next_out = zlib_bytes(out.data());
    stream_->avail_out = zlib_count(out.size());
    const uInt room = stream_->avail_out;
    const int result = ::inflate(stream_.get(), Z_NO_FLUSH);
    begin_ = end_ - stream_->avail_in;
    const std::size_t count = room - stream_->avail_out;
    if (result == Z_STREAM_END) {
      member_open_ = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      error_ = result;
    }
    if (count > 0) return count;
  }
}

void EncodingFile::DeflateEnd::operator()(z_stream_s* stream) const noexcept {
  ::deflateEnd(stream);
  delete stream;
}

EncodingFile::EncodingFile(std::filesystem::path path, Compression compression, int level)
    : file_(std::move(path)) {
  if (compression == Compression::none) return;
  auto stream = std::make_unique<z_stream_s>();
  std::memset(stream.get(), 0, sizeof *stream);
  constexpr int kMemoryLevel = 8;  // zlib's default
  check_zlib(::deflateInit2(stream.get(), level, Z_DEFLATED, window_bits(compression), kMemoryLevel,
                            Z_DEFAULT_STRATEGY),
             file_.path());
  stream_.reset(stream.release());
  buffer_.resize(kBufferBytes);
}

EncodingFile::~EncodingFile() = default;

void EncodingFile::append(std::span<const std::byte> bytes) {
  if (!stream_) return file_.append(bytes);
  constexpr std::size_t kPiece = 1U << 30;  // zlib counts in 32 bits
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kPiece);
    deflate_all(bytes.first(count), false);
    bytes = bytes.subspan(count);
  }
}

void EncodingFile::commit() {
  if (stream_) deflate_all({}, true);
  file_.commit();
}

void EncodingFile::deflate_all(std::span<const std::byte> bytes, bool last) {
  stream_->next_in = zlib_bytes(bytes.data());
  stream_->avail_in = zlib_count(bytes.size());
  do {
    stream_->next_out = zlib_bytes(buffer_.data());
    stream_->avail_out = zlib_count(buffer_.size());
    const int result = ::deflate(stream_.get(), last ? Z_FINISH : Z_NO_FLUSH);
    if (result == Z_STREAM_ERROR)
      throw errors::FailedPreconditionError(
          fmt::format("{} is already committed", path().string()));
    file_.append(std::span<const std::byte>(buffer_).first(buffer_.size() - stream_->avail_out));
  } while (stream_->avail_out == 0);
}

}  // namespace towerflow::data
