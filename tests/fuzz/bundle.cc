#include "tests/fuzz/bundle.h"

#include <leveldb/env.h>
#include <leveldb/options.h>
#include <leveldb/table_builder.h>

#include <array>
#include <optional>

#include "core/graph/dtype.h"
#include "data/byte_order.h"
#include "data/crc32c.h"
#include "tests/fuzz/scratch.h"
#include "train/checkpoint/bundle_format.h"
#include "train/checkpoint/tensor_bundle.pb.h"

namespace towerflow::fuzz {
namespace {

constexpr std::string_view kMagic = "CKPT";
constexpr std::size_t kPrefixBytes = 8;  // the magic and the length
constexpr std::size_t kFooterBytes = 48;
constexpr std::size_t kTrailerBytes = 5;  // after each block

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void put32(std::string& bytes, std::size_t at, std::uint32_t value) {
  data::store_little(std::as_writable_bytes(std::span(bytes)).subspan(at), value);
}

struct Handle {
  std::size_t offset = 0, size = 0;
};

/// Removes a block handle from the front of `bytes` and returns it, or nullopt if such a block does
/// not fit into the table.
std::optional<Handle> take_handle(std::string_view& bytes, std::size_t table) {
  const auto offset = take_varint(bytes);
  const auto size = offset ? take_varint(bytes) : std::nullopt;
  if (!size || *offset > table || *size > table - *offset ||
      table - *offset - *size < kTrailerBytes)
    return std::nullopt;
  return Handle{static_cast<std::size_t>(*offset), static_cast<std::size_t>(*size)};
}

void fix_block_checksum(std::string& index, Handle block) {
  const std::string_view checked = std::string_view(index).substr(block.offset, block.size + 1);
  put32(index, block.offset + block.size + 1, masked_crc(crc32c(bytes_of(checked))));
}

/// An in-memory file for LevelDB.
class StringFile : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& piece) override {
    bytes.append(piece.data(), piece.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

/// Corrects the checksum of a string tensor's lengths, which precedes the strings, and returns the
/// checksum of the whole tensor.
std::optional<std::uint32_t> fix_strings(std::string& data, std::size_t offset, std::size_t size,
                                         std::uint64_t count) {
  std::string_view rest = std::string_view(data).substr(offset, size);
  std::uint32_t crc = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = take_varint(rest);
    if (!length) return std::nullopt;
    crc = extend_crc_by_length(crc, *length);
  }
  if (rest.size() < 4) return std::nullopt;
  const std::size_t at = offset + size - rest.size();
  put32(data, at, masked_crc(crc));
  return crc32c_extend(crc, bytes_of(std::string_view(data).substr(at, rest.size())));
}

void fix_tensor_checksum(proto::BundleEntryProto& entry, std::string& data) {
  if (entry.offset() < 0 || entry.size() < 0) return;
  const auto offset = static_cast<std::uint64_t>(entry.offset());
  const auto size = static_cast<std::uint64_t>(entry.size());
  if (offset > data.size() || size > data.size() - offset) return;
  if (static_cast<DType>(entry.dtype()) != DType::string) {
    const std::string_view bytes = std::string_view(data).substr(offset, size);
    entry.set_crc32c(masked_crc(crc32c(bytes_of(bytes))));
    return;
  }
  std::uint64_t count = 1;
  for (const auto& dim : entry.shape().dim()) count *= static_cast<std::uint64_t>(dim.size());
  if (const auto crc = fix_strings(data, offset, size, count)) entry.set_crc32c(masked_crc(*crc));
}

std::int64_t edge(Random& random) {
  static constexpr std::array<std::int64_t, 11> kEdges = {
      -1, 0, 1, 2, 7, 255, 1 << 20, 0x7fffffff, 0x100000000, INT64_MAX / 2, INT64_MAX};
  return kEdges[random() % kEdges.size()];
}

/// Changes one field of an entry, which stays a valid message.
void mutate_entry(std::string& record, Random& random) {
  proto::BundleEntryProto entry;
  if (!entry.ParseFromString(record)) return;
  const int rank = entry.shape().dim_size();
  switch (random() % 6) {
    case 0:
      entry.set_dtype(static_cast<int>(random() % 30));
      break;
    case 1:
      entry.mutable_shape()->add_dim()->set_size(edge(random));
      break;
    case 2:
      if (rank > 0) {
        const int axis = static_cast<int>(random() % static_cast<unsigned>(rank));
        entry.mutable_shape()->mutable_dim(axis)->set_size(edge(random));
      }
      break;
    case 3:
      entry.set_offset(random() % 2 == 0 ? edge(random) : static_cast<int>(random() % 64));
      break;
    case 4:
      entry.set_size(random() % 2 == 0 ? edge(random) : static_cast<int>(random() % 64));
      break;
    default:
      entry.set_shard_id(static_cast<int>(random() % 3));
  }
  entry.SerializeToString(&record);
}

void mutate_index_records(IndexRecords& records, std::size_t most, Random& random,
                          const Mutate& plain) {
  auto it = std::next(records.begin(), static_cast<std::ptrdiff_t>(random() % records.size()));
  std::string key = it->first, value = it->second;
  switch (random() % 6) {
    case 0:
      plain(value, most);
      break;
    case 1:
      records.erase(it);
      plain(key, most);
      break;
    case 2:
      plain(key, most);  // a copy under another key
      break;
    default:
      mutate_entry(value, random);
  }
  records[key] = value;
}

}  // namespace

bool is_bundle(std::string_view bytes) {
  return bytes.size() >= kPrefixBytes && bytes.starts_with(kMagic);
}

Bundle split_bundle(std::string_view bytes) {
  if (!is_bundle(bytes)) return {std::string(bytes), {}};
  const auto length = data::load_little<std::uint32_t>(bytes_of(bytes.substr(kMagic.size())));
  const std::string_view rest = bytes.substr(kPrefixBytes);
  const std::size_t size = std::min<std::size_t>(length, rest.size());
  return {std::string(rest.substr(0, size)), std::string(rest.substr(size))};
}

std::string join_bundle(const Bundle& bundle) {
  std::string bytes(kMagic);
  bytes.resize(kPrefixBytes);
  put32(bytes, kMagic.size(), static_cast<std::uint32_t>(bundle.index.size()));
  return bytes + bundle.index + bundle.data;
}

std::filesystem::path scratch_bundle(const Bundle& bundle) {
  const std::filesystem::path prefix = scratch_folder() / "model";
  static const bool linked = [&] {
    for (int shard = 0; shard < 2; ++shard)
      std::filesystem::create_symlink(bundle_data_path(prefix, 0, 1),
                                      bundle_data_path(prefix, shard, 2));
    return true;
  }();
  require(linked, "the second data file is the first");
  scratch_file("model.data-00000-of-00001", bundle.data);
  scratch_file("model.index", bundle.index);
  return prefix;
}

IndexRecords table_records(std::string_view index) {
  IndexRecords records;
  const InputFile file(scratch_file("mutated.index", index));
  succeeds([&] {
    read_index_table(
        file, [&](std::string_view key, std::string_view value) { records.emplace(key, value); });
  });
  return records;
}

std::string make_table(const IndexRecords& records, bool snappy) {
  leveldb::Options options;
  options.block_size = 512;  // several blocks in a small file
  options.compression = snappy ? leveldb::kSnappyCompression : leveldb::kNoCompression;
  StringFile file;
  leveldb::TableBuilder builder(options, &file);
  for (const auto& [key, value] : records) builder.Add(key, value);
  require(builder.Finish().ok(), "LevelDB writes a table");
  return file.bytes;
}

void fix_table_checksums(std::string& index) {
  if (index.size() < kFooterBytes) return;
  const std::size_t table = index.size() - kFooterBytes;
  const std::string footer = index.substr(table);
  std::string_view handles = footer;
  const auto metaindex = take_handle(handles, table);
  const auto root = metaindex ? take_handle(handles, table) : std::nullopt;
  if (!root) return;
  fix_block_checksum(index, *root);
  // The records of the index block, up to the first that is invalid.
  const std::string block = index.substr(root->offset, root->size);
  std::string_view rest = block;
  while (!rest.empty()) {
    const auto shared = take_varint(rest);
    const auto unshared = shared ? take_varint(rest) : std::nullopt;
    const auto size = unshared ? take_varint(rest) : std::nullopt;
    if (!size || *unshared > rest.size() || *size > rest.size() - *unshared) return;
    std::string_view value = rest.substr(*unshared, *size);
    rest.remove_prefix(*unshared + *size);
    if (const auto data = take_handle(value, table)) fix_block_checksum(index, *data);
  }
}

void fix_tensor_checksums(IndexRecords& records, std::string& data) {
  for (auto& [key, record] : records) {
    proto::BundleEntryProto entry;
    if (key.empty() || !entry.ParseFromString(record) || entry.slices_size() > 0) continue;
    fix_tensor_checksum(entry, data);
    entry.SerializeToString(&record);
  }
}

void mutate_bundle(std::string& bytes, std::size_t most, Random& random, const Mutate& plain) {
  const auto choice = random() % 8;
  if (choice == 0) return plain(bytes, most);
  Bundle bundle = split_bundle(bytes);
  if (choice < 3) {
    plain(bundle.index, most);
    fix_table_checksums(bundle.index);
  } else if (IndexRecords records = table_records(bundle.index); records.empty()) {
    plain(bundle.index, most);
  } else {
    if (choice < 6)
      mutate_index_records(records, most, random, plain);
    else
      plain(bundle.data, most);
    if (random() % 4 != 0) fix_tensor_checksums(records, bundle.data);
    bundle.index = make_table(records, random() % 2 == 0);
  }
  bytes = join_bundle(bundle);
}

}  // namespace towerflow::fuzz
