// The format: https://github.com/google/leveldb/blob/main/doc/table_format.md. Data blocks, a
// metaindex block (filters; unused here), an index block with one record per data block, and a
// footer of 48 bytes. Each block is followed by its compression (1 byte) and a masked CRC-32C of
// both.
#include <fmt/format.h>
#include <snappy.h>

#include <optional>

#include "data/crc32c.h"
#include "train/checkpoint/index_table.h"

namespace towerflow {
namespace {

constexpr std::size_t kFooterBytes = 48;
constexpr std::size_t kTrailerBytes = 5;
constexpr std::string_view kMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
// Snappy's densest element expands 3 bytes to 64.
constexpr std::uint64_t kSnappyMaxRatio = 22;
// With a restart point every 16 keys, which all writers use, the full keys of a block take at most
// 16 times its size. Without a bound, a small block could expand to any size.
constexpr std::uint64_t kMaxKeyExpansion = 20;

struct BlockHandle {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // without the trailer
};

[[noreturn]] void throw_damaged(const InputFile& file, std::string_view what) {
  throw errors::DataLossError(
      fmt::format("{} is not a checkpoint index, or is damaged: {}", file.path().string(), what));
}

/// Takes a varint off the front of `bytes`; returns nothing if it is truncated or exceeds 64 bits.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<BlockHandle> take_handle(std::string_view& bytes) {
  const auto offset = take_varint(bytes);
  const auto size = offset ? take_varint(bytes) : std::nullopt;
  if (!size) return std::nullopt;
  return BlockHandle{*offset, *size};
}

std::uint32_t load32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

std::string read_bytes(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.read_exactly_at(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::string uncompressed(const InputFile& file, std::string_view bytes) {
  std::size_t size = 0;
  if (!snappy::GetUncompressedLength(bytes.data(), bytes.size(), &size) ||
      size / kSnappyMaxRatio > bytes.size())
    throw_damaged(file, "a block states an impossible size");
  std::string block(size, '\0');
  if (!snappy::RawUncompress(bytes.data(), bytes.size(), block.data()))
    throw_damaged(file, "a block cannot be uncompressed");
  return block;
}

/// Returns the block's records and restart points. `limit` is the end of the part of the file that
/// may contain the block.
std::string read_block(const InputFile& file, BlockHandle handle, std::uint64_t limit) {
  if (limit < kTrailerBytes || handle.offset > limit - kTrailerBytes ||
      handle.size > limit - kTrailerBytes - handle.offset)
    throw_damaged(file, fmt::format("a block of {} bytes at byte {} does not fit", handle.size,
                                    handle.offset));
  std::string block = read_bytes(file, handle.offset, handle.size + kTrailerBytes);
  const std::string_view checked = std::string_view(block).substr(0, handle.size + 1);
  if (masked_crc(crc32c(bytes_of(checked))) !=
      load32(std::string_view(block).substr(checked.size())))
    throw_damaged(file, fmt::format("wrong checksum of the block at byte {}", handle.offset));
  const char compression = checked.back();
  block.resize(handle.size);
  if (compression == 0) return block;
  if (compression == 1) return uncompressed(file, block);
  throw_damaged(file,
                fmt::format("unknown compression {} of a block", static_cast<int>(compression)));
}

/// Calls `visit(key, value)` for each record of a block. A key is stored as the number of bytes
/// shared with the previous key, and the rest; the restart points at the end are only for seeking.
template <class Visit>
void visit_block(const InputFile& file, std::string_view block, Visit&& visit) {
  constexpr std::string_view kBadBlock = "a block has an impossible layout";
  if (block.size() < 4) throw_damaged(file, kBadBlock);
  const std::uint64_t restarts = load32(block.substr(block.size() - 4));
  if (restarts > (block.size() - 4) / 4) throw_damaged(file, kBadBlock);
  std::string_view rest = block.substr(0, block.size() - 4 - restarts * 4);
  std::uint64_t key_bytes_left = block.size() * kMaxKeyExpansion;
  std::string key;
  while (!rest.empty()) {
    const auto shared = take_varint(rest);
    const auto unshared = shared ? take_varint(rest) : std::nullopt;
    const auto value_size = unshared ? take_varint(rest) : std::nullopt;
    if (!value_size || *shared > key.size() || *unshared > rest.size() ||
        *value_size > rest.size() - *unshared)
      throw_damaged(file, kBadBlock);
    key.resize(static_cast<std::size_t>(*shared));
    key.append(rest.substr(0, *unshared));
    if (key.size() > key_bytes_left) throw_damaged(file, "its keys expand without end");
    key_bytes_left -= key.size();
    visit(std::string_view(key), rest.substr(*unshared, *value_size));
    rest.remove_prefix(*unshared + *value_size);
  }
}

}  // namespace

void read_index_table(
    const InputFile& file,
    const std::function<void(std::string_view key, std::string_view value)>& visit) {
  const std::uint64_t size = file.size().value_or(0);
  if (size < kFooterBytes) throw_damaged(file, fmt::format("it has {} bytes only", size));
  const std::uint64_t limit = size - kFooterBytes;
  const std::string footer = read_bytes(file, limit, kFooterBytes);
  if (!footer.ends_with(kMagic)) throw_damaged(file, "it does not end as such a file does");
  std::string_view handles = std::string_view(footer).substr(0, kFooterBytes - kMagic.size());
  const auto metaindex = take_handle(handles);
  const auto index = metaindex ? take_handle(handles) : std::nullopt;
  if (!index) throw_damaged(file, "its footer is damaged");

  // All writers produce non-overlapping blocks in file order and keys in strict order. Requiring
  // both bounds the work by the size of the file.
  std::uint64_t read_to = 0;
  std::optional<std::string> last_key;
  visit_block(file, read_block(file, *index, limit), [&](std::string_view, std::string_view value) {
    const auto handle = take_handle(value);
    if (!handle || handle->offset < read_to) throw_damaged(file, "its blocks are out of order");
    const std::string block = read_block(file, *handle, limit);
    read_to = handle->offset + handle->size + kTrailerBytes;
    visit_block(file, block, [&](std::string_view key, std::string_view record) {
      if (last_key && key <= *last_key) throw_damaged(file, "its keys are out of order");
      last_key = key;
      visit(key, record);
    });
  });
}

}  // namespace towerflow
