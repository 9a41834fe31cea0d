#include "tests/fuzz/records.h"

#include <zlib.h>

#include <algorithm>
#include <span>

#include "data/byte_order.h"
#include "data/tfrecord.h"

namespace towerflow::fuzz {
namespace {

constexpr std::size_t kMaxUnpackedBytes = 64 * 1024;
constexpr std::size_t kAround = data::kRecordHeaderBytes + data::kRecordFooterBytes;

Bytef* zlib_bytes(const char* bytes) { return reinterpret_cast<Bytef*>(const_cast<char*>(bytes)); }

std::uint64_t length_at(std::string_view bytes, std::size_t at) {
  return data::load_little<std::uint64_t>(bytes_of(bytes.substr(at)));
}

void put(std::string& bytes, std::size_t at, std::span<const std::byte> value) {
  std::copy(value.begin(), value.end(), reinterpret_cast<std::byte*>(bytes.data() + at));
}

/// Corrects the checksums of the records. A length beyond the end of the file is reduced to the
/// remaining bytes if `cut`, else kept.
void fix_checksums(std::string& bytes, bool cut) {
  std::size_t at = 0;
  while (bytes.size() - at >= kAround) {
    const std::size_t room = bytes.size() - at - kAround;
    std::uint64_t length = length_at(bytes, at);
    if (length > room && cut) length = room;
    put(bytes, at, data::record_header(length));
    if (length > room) return;
    const auto size = static_cast<std::size_t>(length);
    at += data::kRecordHeaderBytes;
    put(bytes, at + size, data::record_footer(std::string_view(bytes).substr(at, size)));
    at += size + data::kRecordFooterBytes;
  }
}

void mutate_plain_records(std::string& bytes, std::size_t most, Random& random,
                          const Mutate& plain) {
  const auto choice = random() % 4;
  std::vector<std::string> records = split_records(bytes);
  if (choice < 2 || records.empty()) {
    plain(bytes, most);
    if (choice == 1) fix_checksums(bytes, random() % 2 == 0);
    return;
  }
  std::string& record = records[random() % records.size()];
  switch (choice == 2 ? 3 : random() % 4) {
    case 0:
      records.push_back(record);
      break;
    case 1:
      record.clear();
      break;
    default:
      plain(record, most);
  }
  bytes = join_records(records);
}

}  // namespace

data::Compression compression_of_bytes(std::string_view bytes) {
  if (data::has_gzip_magic(bytes_of(bytes))) return data::Compression::gzip;
  const bool zlib = bytes.starts_with('\x78') && bytes.size() > 1 &&
                    (0x7800 | static_cast<unsigned char>(bytes[1])) % 31 == 0;
  return zlib ? data::Compression::zlib : data::Compression::none;
}

std::optional<std::string> unpacked(std::string_view bytes) {
  z_stream stream{};
  constexpr int kEither = 15 + 32;  // gzip or zlib, by the header
  if (::inflateInit2(&stream, kEither) != Z_OK) return std::nullopt;
  std::string text(kMaxUnpackedBytes, '\0');
  stream.next_in = zlib_bytes(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = zlib_bytes(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = ::inflate(&stream, Z_FINISH);
  text.resize(text.size() - stream.avail_out);
  ::inflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return text;
}

std::string packed(std::string_view bytes, data::Compression compression) {
  if (compression == data::Compression::none) return std::string(bytes);
  z_stream stream{};
  const int window = compression == data::Compression::gzip ? 15 + 16 : 15;
  require(::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, 8,
                         Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib starts");
  std::string text(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = zlib_bytes(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = zlib_bytes(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = ::deflate(&stream, Z_FINISH);
  text.resize(text.size() - stream.avail_out);
  ::deflateEnd(&stream);
  require(result == Z_STREAM_END, "zlib packs");
  return text;
}

std::vector<std::string> split_records(std::string_view bytes) {
  std::vector<std::string> records;
  std::size_t at = 0;
  while (bytes.size() - at >= kAround) {
    const std::uint64_t length = length_at(bytes, at);
    if (length > bytes.size() - at - kAround) break;
    records.emplace_back(bytes.substr(at + data::kRecordHeaderBytes, length));
    at += kAround + static_cast<std::size_t>(length);
  }
  return records;
}

std::string join_records(const std::vector<std::string>& records) {
  std::string bytes;
  const auto append = [&](std::span<const std::byte> piece) {
    bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  };
  for (const std::string& record : records) {
    append(data::record_header(record.size()));
    bytes += record;
    append(data::record_footer(record));
  }
  return bytes;
}

void mutate_unpacked(std::string& bytes, std::size_t most, Random& random, const Mutate& plain,
                     const Mutate& inner) {
  const data::Compression compression = compression_of_bytes(bytes);
  if (compression == data::Compression::none) return inner(bytes, most);
  std::optional<std::string> text;
  if (random() % 4 != 0) text = unpacked(bytes);
  if (!text) return plain(bytes, most);
  inner(*text, kMaxUnpackedBytes);
  bytes = packed(*text, compression);
}

void mutate_records(std::string& bytes, std::size_t most, Random& random, const Mutate& plain) {
  mutate_unpacked(bytes, most, random, plain, [&](std::string& text, std::size_t limit) {
    mutate_plain_records(text, limit, random, plain);
  });
}

}  // namespace towerflow::fuzz
