// The table with a checkpoint's index: compatibility with LevelDB, and crafted files with right
// checksums but wrong contents.
#include "train/checkpoint/index_table.h"

#include <fmt/format.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>
#include <snappy.h>

#include <memory>

#include "data/crc32c.h"
#include "tests/train/checkpoint/support.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

constexpr std::string_view kMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string fixed32(std::uint32_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string record(std::uint64_t shared, std::string_view rest, std::string_view value) {
  return varint(shared) + varint(rest.size()) + varint(value.size()) + std::string(rest) +
         std::string(value);
}

std::string block_of(const std::string& records) { return records + fixed32(0) + fixed32(1); }

/// A table built by hand.
struct Crafted {
  std::string bytes;

  /// Appends a block with the right checksum and returns its handle.
  std::string add(std::string_view block, char compression = 0) {
    const std::string handle = varint(bytes.size()) + varint(block.size());
    const std::string body = std::string(block) + compression;
    bytes += body + fixed32(masked_crc(crc32c(bytes_of(body))));
    return handle;
  }
  void finish(const std::string& index_handle) {
    std::string handles = varint(0) + varint(0) + index_handle;
    handles.resize(40);
    bytes += handles + std::string(kMagic);
  }
  /// Returns a table with one data block and the right index.
  static Crafted of(std::string_view block, char compression = 0) {
    Crafted table;
    const std::string handle = table.add(block, compression);
    table.finish(table.add(block_of(record(0, "zz", handle))));
    return table;
  }
};

/// Returns the records of a table, or the part of the error's text after the file name.
std::string read_text(const std::string& bytes) {
  const ScratchFolder folder;
  write_raw(folder / "t", bytes);
  std::string text;
  const std::string error = thrown([&] {
    read_index_table(InputFile(folder / "t"), [&](std::string_view key, std::string_view value) {
      text += fmt::format("{}={} ", key, value);
    });
  });
  if (error == "nothing") return text;
  const std::string start = fmt::format(
      "DataLossError: {} is not a checkpoint index, or is damaged: ", (folder / "t").string());
  return error.starts_with(start) ? error.substr(start.size()) : error;
}

struct MemoryFile : leveldb::RandomAccessFile, leveldb::WritableFile {
  std::string bytes;
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result, char*) const override {
    const std::string_view part = std::string_view(bytes).substr(offset, n);
    *result = leveldb::Slice(part.data(), part.size());
    return leveldb::Status::OK();
  }
};

IndexRecords many_records() {
  IndexRecords records = {{"", "header"}};
  for (int i = 0; i < 3000; ++i)
    records[fmt::format("scope_{}/kernel", i * 7919 % 3000)] = std::string(i % 50, 'v');
  return records;
}

IndexRecords read_records(const std::filesystem::path& path) {
  IndexRecords records;
  read_index_table(InputFile(path), [&](std::string_view key, std::string_view value) {
    records.emplace(key, value);
  });
  return records;
}

}  // namespace

TEST_CASE("index table: LevelDB's reader finds what we wrote") {
  const ScratchFolder folder;
  const IndexRecords written = many_records();
  AtomicFile out(folder / "t");
  write_index_table(out, written);
  out.commit();
  CHECK(read_records(folder / "t") == written);

  MemoryFile file;
  file.bytes = read_raw(folder / "t");
  leveldb::Table* opened = nullptr;
  REQUIRE(leveldb::Table::Open({}, &file, file.bytes.size(), &opened).ok());
  const std::unique_ptr<leveldb::Table> table(opened);
  const std::unique_ptr<leveldb::Iterator> each(table->NewIterator({}));
  IndexRecords found;
  for (each->SeekToFirst(); each->Valid(); each->Next())
    found.emplace(each->key().ToString(), each->value().ToString());
  CHECK(found == written);
}

TEST_CASE("index table: LevelDB's tables are read, compressed and not, in small blocks") {
  const IndexRecords written = many_records();
  for (const auto compression : {leveldb::kNoCompression, leveldb::kSnappyCompression}) {
    MemoryFile file;
    leveldb::Options options;
    options.compression = compression;
    options.block_size = 512;
    leveldb::TableBuilder builder(options, &file);
    for (const auto& [key, value] : written) builder.Add(key, value);
    REQUIRE(builder.Finish().ok());
    const ScratchFolder folder;
    write_raw(folder / "t", file.bytes);
    CHECK(read_records(folder / "t") == written);
  }
}

TEST_CASE("index table: the hand-made table is a right one before it is made a wrong one") {
  CHECK(read_text(Crafted::of(block_of(record(0, "ab", "1") + record(1, "c", "2"))).bytes) ==
        "ab=1 ac=2 ");
}

TEST_CASE("index table: impossible lengths under right checksums") {
  const std::string layout = "a block has an impossible layout";
  const auto read_block = [](const std::string& block) {
    return read_text(Crafted::of(block).bytes);
  };
  const std::string huge = varint(0xffffffffU), wraps = varint(~0ULL);
  // The sums of these lengths overflow, so a check that adds them in 32 or 64 bits would pass.
  CHECK(read_block(block_of(varint(0) + huge + varint(2) + "ab")) == layout);
  CHECK(read_block(block_of(varint(0) + wraps + varint(2) + "ab")) == layout);
  CHECK(read_block(block_of(varint(0) + varint(2) + wraps + "ab")) == layout);
  CHECK(read_block(block_of(varint(1) + varint(1) + varint(0) + "a")) == layout);
  CHECK(read_block(block_of(varint(0) + std::string(10, '\xff'))) == layout);
  CHECK(read_block(block_of(varint(0) + std::string(9, '\xff') + "\x02")) == layout);
  CHECK(read_block(block_of(varint(0) + "\x80")) == layout);
  CHECK(read_block("abc") == layout);
  CHECK(read_block("") == layout);
  CHECK(read_block(fixed32(1)) == layout);
  CHECK(read_block(fixed32(0x40000000)) == layout);
  CHECK(read_block(fixed32(0xffffffff)) == layout);
}

TEST_CASE("index table: handles that point outside") {
  for (const std::uint64_t size : {1000ULL, 0xffffffffULL, ~0ULL, ~0ULL - 4, 1ULL << 63}) {
    CAPTURE(size);
    Crafted table;
    table.add(block_of(record(0, "a", "1")));
    table.finish(varint(0) + varint(size));
    CHECK(read_text(table.bytes) ==
          fmt::format("a block of {} bytes at byte 0 does not fit", size));
    Crafted offset;
    offset.add(block_of(record(0, "a", "1")));
    offset.finish(varint(size) + varint(3));
    CHECK(read_text(offset.bytes) ==
          fmt::format("a block of 3 bytes at byte {} does not fit", size));
  }
  Crafted unfinished;
  unfinished.finish(std::string(20, '\xff'));
  CHECK(read_text(unfinished.bytes) == "its footer is damaged");
  Crafted bad_value;
  bad_value.finish(bad_value.add(block_of(record(0, "a", "\xff"))));
  CHECK(read_text(bad_value.bytes) == "its blocks are out of order");
}

TEST_CASE("index table: what would take time or memory without bound") {
  Crafted repeated;
  const std::string handle = repeated.add(block_of(""));
  repeated.finish(repeated.add(block_of(record(0, "a", handle) + record(0, "b", handle))));
  CHECK(read_text(repeated.bytes) == "its blocks are out of order");
  Crafted itself;
  const std::string own = itself.add(block_of(record(0, "a", varint(0) + varint(14))));
  REQUIRE(own == varint(0) + varint(14));
  itself.finish(own);
  CHECK(read_text(itself.bytes) == "a=" + own + " ");

  std::string keys = record(0, std::string(100'000, 'k'), "");
  for (int i = 0; i < 10'000; ++i) keys += record(100'000, fmt::format("{:05}", i), "");
  const std::string expands = read_text(Crafted::of(block_of(keys)).bytes);
  CHECK(expands == "its keys expand without end");

  const std::string impossible = "a block states an impossible size";
  CHECK(read_text(Crafted::of(varint(0xffffffffU) + "abc", 1).bytes) == impossible);
  CHECK(read_text(Crafted::of(varint(1 << 20) + "abc", 1).bytes) == impossible);
  CHECK(read_text(Crafted::of("", 1).bytes) == impossible);
  CHECK(read_text(Crafted::of(varint(50) + "abc", 1).bytes) == "a block cannot be uncompressed");
  // The highest ratio that Snappy reaches is accepted.
  const std::string plain = block_of(record(0, "a", std::string(1'000'000, 'x')));
  std::string packed;
  snappy::Compress(plain.data(), plain.size(), &packed);
  CHECK(packed.size() < plain.size() / 20);
  CHECK(read_text(Crafted::of(packed, 1).bytes).size() == 1'000'003);
}

TEST_CASE("index table: order, compression and checksums") {
  const auto records = [](const std::string& text) {
    return read_text(Crafted::of(block_of(text)).bytes);
  };
  CHECK(records(record(0, "b", "1") + record(0, "a", "2")) == "its keys are out of order");
  CHECK(records(record(0, "a", "1") + record(0, "a", "2")) == "its keys are out of order");
  CHECK(records(record(0, "", "1") + record(0, "", "2")) == "its keys are out of order");
  CHECK(records("") == "");
  CHECK(read_text(Crafted::of(block_of(""), 2).bytes) == "unknown compression 2 of a block");
  Crafted table = Crafted::of(block_of(record(0, "a", "1")));
  table.bytes[0] = 1;
  CHECK(read_text(table.bytes) == "wrong checksum of the block at byte 0");
}
