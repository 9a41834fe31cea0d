// Checkpoints with right checksums but wrong entries or values.
#include <fmt/format.h>

#include "data/crc32c.h"
#include "tests/train/checkpoint/support.h"
#include "train/checkpoint/index_table.h"

using namespace towerflow;
using namespace towerflow::testing;

namespace {

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

// Protobuf's wire format: field number and wire type, then the value.
std::string number_field(unsigned field, std::int64_t value) {
  return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string bytes_field(unsigned field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

std::string header(int shards = 1, int endianness = 0, const std::string& version = "\x08\x01") {
  return number_field(1, shards) + number_field(2, endianness) + bytes_field(3, version);
}

struct Entry {
  std::int64_t dtype = 1;
  std::vector<std::int64_t> dims = {};
  std::int64_t shard = 0, offset = 0, size = 4;
  std::uint32_t crc = 0;
  std::string more = {};  // further fields
  std::string text() const {
    std::string shape;
    for (const std::int64_t dim : dims) shape += bytes_field(2, number_field(1, dim));
    return number_field(1, dtype) + bytes_field(2, shape) + number_field(3, shard) +
           number_field(4, offset) + number_field(5, size) + varint(6 << 3 | 5) +
           std::string(reinterpret_cast<const char*>(&crc), 4) + more;
  }
};

class HostileCheckpoint {
 public:
  HostileCheckpoint() : prefix_((folder_ / "m").string()) {}

  void write(const IndexRecords& records, const std::string& data) {
    AtomicFile index(index_file(prefix_));
    write_index_table(index, records);
    index.commit();
    write_raw(data_file(prefix_), data);
  }

  /// Returns the error that reading 'w' throws, or the value's text. The prefix becomes "P".
  std::string read_table(const IndexRecords& records, const std::string& data = "abcdabcdabcd") {
    write(records, data);
    std::string value;
    std::string error = thrown([&] { value = TensorBundleReader(prefix_).read("w").text(); });
    if (error == "nothing") return value;
    const auto place = error.find(prefix_);
    if (place != std::string::npos)
      error = error.substr(0, place) + "P" + error.substr(place + prefix_.size());
    return error;
  }
  std::string read(const Entry& entry, const std::string& data = "abcdabcdabcd") {
    return read_table({{"", header()}, {"w", entry.text()}}, data);
  }
  const std::string& prefix() const { return prefix_; }

 private:
  ScratchFolder folder_;
  std::string prefix_;
};

std::uint32_t masked_crc_of(std::string_view bytes) { return masked_crc(crc32c(bytes_of(bytes))); }

}  // namespace

TEST_CASE("hostile entries: a hand-made checkpoint is right before it is made wrong") {
  HostileCheckpoint files;
  CHECK(files.read({.dtype = 3, .crc = masked_crc_of(std::string(4, '\0'))},
                   std::string(4, '\0')) == "int32 () [0]");
}

TEST_CASE("hostile headers") {
  HostileCheckpoint files;
  const std::string entry = Entry{}.text();
  CHECK(files.read_table({{"w", entry}}) ==
        "DataLossError: P.index is damaged: its header is missing");
  CHECK(files.read_table(IndexRecords{}) ==
        "DataLossError: P.index is damaged: its header is missing");
  for (const std::string& bad :
       {header(0), header(-1), std::string("\xff"), std::string(), std::string("\x1a\x05")})
    CHECK(files.read_table({{"", bad}, {"w", entry}}) ==
          "DataLossError: P.index is damaged: its header is not readable");
  CHECK(files.read_table({{"", header(1, 1)}, {"w", entry}}) ==
        "UnimplementedError: the checkpoint P was written on a big-endian machine; only "
        "little-endian ones are read");
  for (const auto& [version, number] : {std::pair{"\x08\x05\x10\x02", 2}, {"\x08\x05\x18\x01", 0}})
    CHECK(files.read_table({{"", header(1, 0, version)}, {"w", entry}}) ==
          fmt::format("UnimplementedError: the checkpoint P needs a reader of version {} or later "
                      "of the format, this one knows version 1",
                      number));
}

TEST_CASE("hostile entries: impossible ones") {
  HostileCheckpoint files;
  const std::int64_t large = std::int64_t{1} << 62;
  for (const Entry& entry :
       {Entry{.dims = {-1}}, Entry{.dims = {large, 2}}, Entry{.dims = {large, 0, large}},
        Entry{.dims = {INT64_MIN}}, Entry{.dims = std::vector<std::int64_t>(255, 1)},
        Entry{.shard = 1}, Entry{.shard = -1}, Entry{.offset = -1}, Entry{.size = -1},
        Entry{.more = bytes_field(2, number_field(3, 1))}})
    CHECK(files.read(entry) == "DataLossError: P.index is damaged: the entry of 'w' is impossible");
  for (const std::string bad : {"", "\xff", "\x12\x7f"})
    CHECK(files.read_table({{"", header()}, {"w", bad}}) ==
          "DataLossError: P.index is damaged: the entry of 'w' is not readable");
  CHECK(files.read({.dtype = 0}) ==
        "DataLossError: P.index is damaged: the entry of 'w' is not readable");
  const std::string long_name(5000, '\n');
  CHECK(files.read_table({{"", header()}, {long_name, "\xff"}}) ==
        "DataLossError: P.index is damaged: the entry of '" + std::string(200, '?') +
            "...' is not readable");
}

TEST_CASE("hostile entries: a size or place that the file or the shape does not have") {
  HostileCheckpoint files;
  const std::string damaged = "DataLossError: tensor 'w' in P.data-00000-of-00001 is damaged: ";
  CHECK(files.read({.offset = 9}) == damaged + "4 bytes wanted at byte 9, the file ends at 12");
  CHECK(files.read({.offset = INT64_MAX, .size = INT64_MAX}) ==
        damaged +
            "9223372036854775807 bytes wanted at byte 9223372036854775807, the file ends at "
            "12");
  const std::int64_t large = std::int64_t{1} << 61;
  CHECK(files.read({.dims = {large}, .size = large * 2}) ==
        damaged + "4611686018427387904 bytes wanted at byte 0, the file ends at 12");
  // 2^61 floats take 2^63 bytes, and 2^61 int64 values 2^64 bytes, which is zero in 64 bits.
  CHECK(files.read({.dims = {large}}) ==
        damaged + "(2305843009213693952,) values of float32 do not take 4 bytes");
  CHECK(files.read({.dtype = 9, .dims = {large}, .size = 0}) ==
        damaged + "(2305843009213693952,) values of int64 do not take 0 bytes");
  CHECK(files.read({.dims = {2}}) == damaged + "(2,) values of float32 do not take 4 bytes");
  CHECK(files.read({.dims = {0}}) == damaged + "(0,) values of float32 do not take 4 bytes");
  CHECK(files.read({.dtype = 10, .dims = {4}, .crc = masked_crc_of("abcd")}) ==
        damaged + "a bool is neither 0 nor 1");
  CHECK(files.read(Entry{}) == damaged + "wrong checksum");
}

TEST_CASE("hostile entries: dtypes that an Array cannot hold are listed and not read") {
  HostileCheckpoint files;
  for (const int dtype : {11, 20, 21, 256 + 1, 101, -1}) {
    CAPTURE(dtype);
    CHECK(files.read({.dtype = dtype}) ==
          fmt::format("UnimplementedError: tensor 'w' in the checkpoint P has TensorFlow's dtype "
                      "number {}, which has no counterpart here",
                      dtype));
    const TensorBundleReader reader(files.prefix());
    CHECK(reader.info("w").dtype == DType::invalid);
  }
}

TEST_CASE("hostile strings") {
  HostileCheckpoint files;
  const std::string damaged = "DataLossError: tensor 'w' in P.data-00000-of-00001 is damaged: ";
  const auto read = [&](std::vector<std::int64_t> dims, const std::string& data) {
    const auto size = static_cast<std::int64_t>(data.size());
    return files.read({.dtype = 7, .dims = std::move(dims), .size = size}, data);
  };
  const std::string zeros(4, '\0');
  CHECK(read({}, "abcd") == damaged + "it is too short for its shape");
  CHECK(read({}, "") == damaged + "it is too short for its shape");
  CHECK(read({std::int64_t{1} << 62}, "abcdefgh") == damaged + "it is too short for its shape");
  const std::string length = damaged + "a string has an impossible length";
  CHECK(read({}, varint(100) + zeros) == length);
  CHECK(read({}, varint(~0ULL) + zeros) == length);
  CHECK(read({}, std::string(20, '\xff')) == length);
  CHECK(read({2}, varint(5) + varint(~0ULL - 4) + zeros + "abcde") == length);
  const std::string fill = damaged + "its strings do not fill its place";
  CHECK(read({}, varint(3) + zeros + "ab") == fill);
  CHECK(read({}, varint(1) + zeros + "ab") == fill);
  CHECK(read({5}, std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9)) == length);
  CHECK(read({}, varint(2) + zeros + "ab") ==
        damaged + "wrong checksum of the lengths of its strings");
}
