#include "train/checkpoint/bundle_strings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "data/crc32c.h"
#include "train/checkpoint/bundle_format.h"

namespace towerflow {
namespace {

/// Buffered sequential access to the bytes of one tensor.
class TensorBytes {
 public:
  TensorBytes(const InputFile& file, std::uint64_t offset, std::uint64_t bytes)
      : file_(file), offset_(offset), unread_(bytes) {}

  std::uint64_t remaining() const { return unread_ + buffered_.size(); }

  /// Fills `out`; enough bytes must remain.
  void take(std::span<std::byte> out) {
    while (!out.empty()) {
      if (buffered_.empty()) refill();
      const std::size_t count = std::min(out.size(), buffered_.size());
      std::memcpy(out.data(), buffered_.data(), count);
      buffered_ = buffered_.subspan(count);
      out = out.subspan(count);
    }
  }

  /// Returns the next varint; nothing if it is truncated or does not fit 64 bits.
  std::optional<std::uint64_t> take_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && remaining() > 0; shift += 7) {
      std::byte byte{};
      take({&byte, 1});
      if (shift == 63 && byte > std::byte{1}) return std::nullopt;
      value |= std::to_integer<std::uint64_t>(byte & std::byte{0x7f}) << shift;
      if (byte < std::byte{0x80}) return value;
    }
    return std::nullopt;
  }

 private:
  void refill() {
    const std::span space = std::span(buffer_).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(unread_, buffer_.size())));
    file_.read_exactly_at(offset_, space);
    offset_ += space.size();
    unread_ -= space.size();
    buffered_ = space;
  }

  const InputFile& file_;
  std::uint64_t offset_;
  std::uint64_t unread_;
  std::array<std::byte, 64 * 1024> buffer_;
  std::span<const std::byte> buffered_;
};

}  // namespace

StoredStrings read_strings(const InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                           const Shape& shape) {
  constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);
  const auto count = static_cast<std::uint64_t>(shape.elements());
  StoredStrings result;
  // A length takes at least one byte; checked before memory is allocated for that many.
  if (bytes < kChecksumBytes || count > bytes - kChecksumBytes) {
    result.problem = "it is too short for its shape";
    return result;
  }
  TensorBytes in(file, offset, bytes);
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(count));
  std::uint64_t characters = 0;
  for (std::uint64_t& length : lengths) {
    const auto taken = in.take_varint();
    if (!taken || *taken > bytes - characters) {
      result.problem = "a string has an impossible length";
      return result;
    }
    length = *taken;
    characters += length;
    result.crc = extend_crc_by_length(result.crc, length);
  }
  if (in.remaining() != kChecksumBytes + characters) {
    result.problem = "its strings do not fill its place";
    return result;
  }
  std::uint32_t lengths_crc = 0;
  in.take(std::as_writable_bytes(std::span(&lengths_crc, 1)));
  if (lengths_crc != masked_crc(result.crc)) {
    result.problem = "wrong checksum of the lengths of its strings";
    return result;
  }
  result.crc = crc32c_extend(result.crc, std::as_bytes(std::span(&lengths_crc, 1)));
  result.value = Array(DType::string, shape);
  auto* strings = result.value.data<std::string>();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    strings[i].resize(static_cast<std::size_t>(lengths[i]));
    in.take(std::as_writable_bytes(std::span(strings[i])));
    result.crc = crc32c_extend(result.crc, bytes_of(strings[i]));
  }
  return result;
}

}  // namespace towerflow
