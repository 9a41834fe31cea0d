#include "data/tfrecord.h"

#include <fmt/format.h>

#include "data/byte_order.h"
#include "data/crc32c.h"

namespace towerflow::data {
namespace {

// A plain file whose first record's length looks like gzip's magic number (0x088b1f and such) is
// recognized as plain by its header's checksum.
Compression detected(DecodingInput& input) {
  const auto start = input.peek_stored(kRecordHeaderBytes);
  return has_gzip_magic(start) && !is_record_header(start) ? Compression::gzip : Compression::none;
}

}  // namespace

std::array<std::byte, kRecordHeaderBytes> record_header(std::uint64_t length) noexcept {
  std::array<std::byte, kRecordHeaderBytes> header;
  const std::span<std::byte> bytes(header);
  store_little(bytes, length);
  store_little(bytes.subspan(8), masked_crc(crc32c(bytes.first(8))));
  return header;
}

std::array<std::byte, kRecordFooterBytes> record_footer(std::string_view data) noexcept {
  std::array<std::byte, kRecordFooterBytes> footer;
  store_little(std::span<std::byte>(footer), masked_crc(crc32c(bytes_of(data))));
  return footer;
}

bool is_record_header(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kRecordHeaderBytes &&
         load_little<std::uint32_t>(bytes.subspan(8)) == masked_crc(crc32c(bytes.first(8)));
}

TFRecordReader::TFRecordReader(std::filesystem::path path, TFRecordReadOptions options)
    : input_(std::move(path)), options_(options) {
  input_.set_compression(options_.compression ? *options_.compression : detected(input_));
}

bool TFRecordReader::next(std::string& record) {
  if (failure_) errors::raise(failure_->code(), failure_->message(), failure_->detail());
  try {
    if (!read_record(record)) return false;
  } catch (const errors::OpError& error) {
    failure_ = error;
    record.clear();
    throw;
  }
  ++records_;
  offset_ = input_.position();
  return true;
}

std::optional<std::string> TFRecordReader::next() {
  std::string record;
  if (!next(record)) return std::nullopt;
  return record;
}

std::uint64_t TFRecordReader::skip(std::uint64_t count) {
  std::string record;
  std::uint64_t done = 0;
  while (done < count && next(record)) ++done;
  return done;
}

bool TFRecordReader::read_record(std::string& record) {
  std::array<std::byte, kRecordHeaderBytes> header;
  const std::size_t found = input_.read(header);
  if (found == 0) return false;
  if (found < header.size()) fail_truncated("header", header.size(), found);
  const std::uint64_t length = read_length(header);
  if (length > options_.max_record_bytes)
    throw errors::ResourceExhaustedError(fmt::format("record {} has {} bytes, the limit is {}",
                                                     position_text(), length,
                                                     options_.max_record_bytes));
  if (const auto left = input_.remaining(length); left && *left < length)
    fail_truncated("data", length, *left);

  record.clear();
  const std::uint64_t read = input_.append_to(record, length);
  if (read < length) fail_truncated("data", length, read);
  std::array<std::byte, kRecordFooterBytes> footer;
  const std::size_t footer_read = input_.read(footer);
  if (footer_read < footer.size()) fail_truncated("checksum", footer.size(), footer_read);
  const std::uint32_t stored = load_little<std::uint32_t>(footer);
  const std::uint32_t computed = masked_crc(crc32c(bytes_of(record)));
  if (stored != computed)
    throw errors::DataLossError(
        fmt::format("corrupted record {}: the checksum of its {} bytes of data is {:#010x}, the "
                    "file says {:#010x}",
                    position_text(), length, computed, stored));
  return true;
}

std::uint64_t TFRecordReader::read_length(std::span<const std::byte> header) const {
  const std::uint32_t stored = load_little<std::uint32_t>(header.subspan(8));
  const std::uint32_t computed = masked_crc(crc32c(header.first(8)));
  if (stored != computed)
    throw errors::DataLossError(
        fmt::format("corrupted record {}: the checksum of its length is {:#010x}, the file says "
                    "{:#010x}",
                    position_text(), computed, stored),
        {.hint =
             records_ == 0 ? "is this a TFRecord file, and its compression the right one?" : ""});
  return load_little<std::uint64_t>(header);
}

std::string TFRecordReader::position_text() const {
  return fmt::format("{} at byte {} of {}{}", records_, offset_, path().string(),
                     compression() == Compression::none ? "" : " (decompressed)");
}

void TFRecordReader::fail_truncated(const std::string& part, std::uint64_t wanted,
                                    std::uint64_t found) const {
  throw errors::DataLossError(fmt::format("truncated record {}: {} bytes of {} wanted, {} left",
                                          position_text(), wanted, part, found));
}

TFRecordWriter::TFRecordWriter(std::filesystem::path path, TFRecordWriteOptions options)
    : file_(std::move(path), options.compression, options.level) {}

void TFRecordWriter::write(std::string_view record) {
  file_.append(record_header(record.size()));
  file_.append(record);
  file_.append(record_footer(record));
  ++records_;
}

void TFRecordWriter::close() { file_.commit(); }

}  // namespace towerflow::data
