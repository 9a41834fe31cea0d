#include "data/tfrecord.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/byte_order.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::read_raw;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;

const std::filesystem::path kFixtures = "tests/data/fixtures";
const Compression kAll[] = {Compression::none, Compression::gzip, Compression::zlib};

/// Returns the records that tests/data/fixtures/make.py writes.
std::vector<std::string> fixture_records() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return {"", "a", "hello world", bytes, std::string(5000, 'x')};
}

void write_records(const std::filesystem::path& path, const std::vector<std::string>& records,
                   TFRecordWriteOptions options = {}) {
  TFRecordWriter writer(path, options);
  for (const std::string& record : records) writer.write(record);
  CHECK(writer.records_written() == records.size());
  writer.close();
}

std::vector<std::string> read_records(const std::filesystem::path& path,
                                      TFRecordReadOptions options = {}) {
  TFRecordReader reader(path, options);
  std::vector<std::string> records;
  while (auto record = reader.next()) records.push_back(*record);
  CHECK(reader.records_read() == records.size());
  return records;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("tfrecord: reads what TensorFlow wrote, writes the same bytes") {
  CHECK(read_records(kFixtures / "small.tfrecord") == fixture_records());
  CHECK(read_records(kFixtures / "small.tfrecord.gz") == fixture_records());
  CHECK(read_records(kFixtures / "small.tfrecord.zlib", {.compression = Compression::zlib}) ==
        fixture_records());
  ScratchFolder folder;
  write_records(folder / "plain", fixture_records());
  CHECK(read_raw(folder / "plain") == read_raw(kFixtures / "small.tfrecord"));
}

TEST_CASE("tfrecord: round trips, lengths about the buffers' sizes") {
  ScratchFolder folder;
  std::vector<std::string> records;
  for (const std::size_t length : {0, 1, 7, 65519, 65520, 65535, 65536, 65537, 262144, 3000000}) {
    std::string record(length, '\0');
    for (std::size_t i = 0; i < length; ++i) record[i] = static_cast<char>(i * i >> 7);
    records.push_back(record);
  }
  for (const Compression compression : kAll) {
    write_records(folder / "file", records, {.compression = compression, .level = 1});
    CHECK(read_records(folder / "file", {.compression = compression}) == records);
    write_records(folder / "none", {}, {.compression = compression});
    CHECK(read_records(folder / "none", {.compression = compression}).empty());
  }
}

TEST_CASE("tfrecord: a file that somebody writes to while it is read") {
  ScratchFolder folder;
  const auto path = folder / "file";
  std::vector<std::string> records;
  for (int i = 0; i < 300; ++i)
    records.push_back(std::string(1000, static_cast<char>('a' + i % 26)));
  write_records(path, records);
  const std::string whole = read_raw(path);
  const std::size_t each = whole.size() / records.size();
  const auto read_past = [&](const std::string& begin, const std::string& now) {
    write_raw(path, begin);
    TFRecordReader reader(path);
    std::uint64_t count = reader.skip(1);
    write_raw(path, now);  // overwrites the open file in place
    const std::string error = thrown([&] { count += reader.skip(1000); });
    return error == "nothing" ? std::to_string(count) : error;
  };
  CHECK(read_past(whole.substr(0, 100 * each), whole) == "300");
  CHECK(read_past(whole.substr(0, 100 * each + 7), whole) == "300");
  CHECK(read_past(whole, whole.substr(0, 100 * each)) == "100");
  CHECK(read_past(whole, whole.substr(0, 100 * each + 500))
            .starts_with(fmt::format("DataLossError: truncated record 100 at byte {} of {}",
                                     100 * each, path.string())));
  std::string damaged = whole;
  damaged[100 * each + 500] ^= 1;
  CHECK(read_past(whole, damaged)
            .starts_with(fmt::format("DataLossError: corrupted record 100 at byte {} of {}",
                                     100 * each, path.string())));
  CHECK(read_past(whole, std::string(whole.size(), '\0')).starts_with("DataLossError: "));
}

TEST_CASE("tfrecord: position, skip") {
  ScratchFolder folder;
  write_records(folder / "file", {"a", "bb", "ccc", "dddd"});
  TFRecordReader reader(folder / "file");
  CHECK(reader.records_read() == 0);
  CHECK(reader.byte_offset() == 0);
  CHECK(reader.next() == "a");
  CHECK(reader.records_read() == 1);
  CHECK(reader.byte_offset() == 17);
  CHECK(reader.skip(2) == 2);
  CHECK(reader.byte_offset() == 17 + 18 + 19);
  CHECK(reader.next() == "dddd");
  CHECK(reader.skip(5) == 0);
  CHECK_FALSE(reader.next().has_value());
  CHECK_FALSE(reader.next().has_value());
  CHECK(reader.records_read() == 4);
}

TEST_CASE("tfrecord: gzip is found by its magic, also members in sequence") {
  ScratchFolder folder;
  write_records(folder / "a", {"1", "2"}, {.compression = Compression::gzip});
  write_records(folder / "b", {"3"}, {.compression = Compression::gzip});
  write_raw(folder / "both", read_raw(folder / "a") + read_raw(folder / "b"));
  CHECK(read_records(folder / "both") == std::vector<std::string>{"1", "2", "3"});
  CHECK(TFRecordReader(folder / "both").compression() == Compression::gzip);
  // A plain file whose first length spells gzip's magic.
  const std::string record(0x088b1f, 'r');
  write_records(folder / "plain", {record});
  CHECK(has_gzip_magic(bytes_of(read_raw(folder / "plain"))));
  CHECK(TFRecordReader(folder / "plain").next() == record);
  // The gzip header has no time, so that equal input gives equal files.
  CHECK(read_raw(folder / "a").substr(3, 5) == std::string(5, '\0'));
}

TEST_CASE("tfrecord: cut at every byte") {
  ScratchFolder folder;
  const std::vector<std::string> records = {"first", "", "third record"};
  for (const Compression compression : kAll) {
    write_records(folder / "file", records, {.compression = compression});
    const std::string whole = read_raw(folder / "file");
    const TFRecordReadOptions options{.compression = compression};
    const std::size_t ends[] = {0, 16 + 5, 16 + 5 + 16};  // where a plain file may end
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write_raw(folder / "cut", whole.substr(0, length));
      CAPTURE(length);
      const std::string error = thrown([&] { read_records(folder / "cut", options); });
      if (compression == Compression::none && std::count(ends, ends + 3, length) > 0)
        CHECK(error == "nothing");
      else
        CHECK(error.starts_with("DataLossError: "));
    }
  }
}

TEST_CASE("tfrecord: texts of truncation") {
  ScratchFolder folder;
  const auto path = folder / "f";
  write_records(path, {"first", "second"});
  const std::string whole = read_raw(path);
  const auto error_at = [&](std::size_t length) {
    write_raw(path, whole.substr(0, length));
    return thrown([&] { read_records(path); });
  };
  const std::string place = "1 at byte 21 of " + path.string();
  CHECK(error_at(26) ==
        "DataLossError: truncated record " + place + ": 12 bytes of header wanted, 5 left");
  CHECK(error_at(36) ==
        "DataLossError: truncated record " + place + ": 6 bytes of data wanted, 3 left");
  CHECK(error_at(41) ==
        "DataLossError: truncated record " + place + ": 4 bytes of checksum wanted, 2 left");
  write_records(path, {"first"}, {.compression = Compression::gzip});
  write_raw(path, read_raw(path).substr(0, 30));
  CHECK(thrown([&] { read_records(path); }) ==
        "DataLossError: " + path.string() +
            ": compressed data is truncated at byte 30 of the file");
  write_raw(path, "");
  CHECK(thrown([&] { TFRecordReader(path, {.compression = Compression::gzip}).next(); }) ==
        "DataLossError: " + path.string() + ": compressed data is truncated at byte 0 of the file");
}

TEST_CASE("tfrecord: every bit flipped in every byte of a plain file") {
  ScratchFolder folder;
  const std::vector<std::string> records = {"first", "", "third"};
  write_records(folder / "file", records);
  const std::string whole = read_raw(folder / "file");
  const std::size_t starts[] = {0, 21, 37};
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      write_raw(folder / "bad", bad);
      TFRecordReader reader(folder / "bad");
      const auto error = thrown([&] {
        while (reader.next()) {
        }
      });
      const auto damaged = static_cast<std::size_t>(at >= 37 ? 2 : at >= 21 ? 1 : 0);
      CAPTURE(at);
      REQUIRE(error.starts_with("DataLossError: corrupted record " + std::to_string(damaged) +
                                " at byte " + std::to_string(starts[damaged])));
      REQUIRE(reader.records_read() == damaged);  // all records before it are intact
    }
}

TEST_CASE("tfrecord: every byte flipped in a compressed file") {
  ScratchFolder folder;
  const std::vector<std::string> records = {"first", "", "third third third"};
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    write_records(folder / "file", records, {.compression = compression});
    const std::string whole = read_raw(folder / "file");
    std::size_t harmless = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ 0xff);
      write_raw(folder / "bad", bad);
      CAPTURE(at);
      std::vector<std::string> read;
      const std::string error =
          thrown([&] { read = read_records(folder / "bad", {.compression = compression}); });
      if (error == "nothing") {
        CHECK(read == records);
        ++harmless;
      } else {
        CHECK(error.starts_with("DataLossError: "));
      }
    }
    // gzip's header bytes for the time (4), the compression level and the system may change.
    CHECK(harmless == (compression == Compression::gzip ? 6 : 0));
  }
}

TEST_CASE("tfrecord: texts of corruption, and again at the next call") {
  ScratchFolder folder;
  const auto path = folder / "f";
  write_records(path, {"first", "second"});
  const std::string whole = read_raw(path);
  std::string bad = whole;
  bad[21 + 12] = 'S';
  write_raw(path, bad);
  TFRecordReader reader(path);
  CHECK(reader.next() == "first");
  const auto footer = record_footer("Second"), stored = record_footer("second");
  const std::string expected = fmt::format(
      "DataLossError: corrupted record 1 at byte 21 of {}: the checksum of its 6 bytes of data is "
      "{:#010x}, the file says {:#010x}",
      path.string(), load_little<std::uint32_t>(footer), load_little<std::uint32_t>(stored));
  std::string record = "kept?";
  CHECK(thrown([&] { reader.next(record); }) == expected);
  CHECK(record.empty());
  CHECK(thrown([&] { reader.next(record); }) == expected);
  CHECK_THROWS_AS(reader.next(record), errors::DataLossError);
  CHECK(reader.records_read() == 1);

  write_raw(path, "this is a text, not a TFRecord file");
  try {
    TFRecordReader(path).next();
    FAIL("no error");
  } catch (const errors::DataLossError& error) {
    CHECK(error.message().starts_with("corrupted record 0 at byte 0 of " + path.string() +
                                      ": the checksum of its length is 0x"));
    CHECK(error.detail().hint == "is this a TFRecord file, and its compression the right one?");
  }
  CHECK(thrown([&] { TFRecordReader(path, {.compression = Compression::gzip}).next(); }) ==
        "DataLossError: " + path.string() +
            ": compressed data is damaged (incorrect header check) at byte 2 of the file");
  const auto absent = folder / "absent";
  CHECK(thrown([&] { TFRecordReader reading(absent); }) ==
        "NotFoundError: cannot open " + absent.string() + ": No such file or directory");
}

TEST_CASE("tfrecord: hostile lengths take no memory") {
  ScratchFolder folder;
  const auto path = folder / "f";
  std::string record;
  for (const std::uint64_t length :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 4,
        std::uint64_t{1} << 32, std::uint64_t{900'000'000}, std::uint64_t{21}}) {
    const std::string bytes = text_of(record_header(length)) + std::string(20, 'x');
    CAPTURE(length);
    write_raw(path, bytes);
    const TFRecordReadOptions unlimited{.max_record_bytes = ~std::uint64_t{0}};
    CHECK(thrown([&] { TFRecordReader(path, unlimited).next(record); }) ==
          fmt::format("DataLossError: truncated record 0 at byte 0 of {}: {} bytes of data wanted, "
                      "20 left",
                      path.string(), length));
    CHECK(record.capacity() < 100);
    if (length > 1ULL << 30)
      CHECK(thrown([&] { TFRecordReader(path).next(record); }) ==
            fmt::format("ResourceExhaustedError: record 0 at byte 0 of {} has {} bytes, the limit "
                        "is 1073741824",
                        path.string(), length));
    // The size of compressed data is not known in advance.
    EncodingFile file(path, Compression::gzip);
    file.append(bytes);
    file.commit();
    std::string inflated;
    CHECK(thrown([&] { TFRecordReader(path, unlimited).next(inflated); }) ==
          fmt::format("DataLossError: truncated record 0 at byte 0 of {} (decompressed): {} bytes "
                      "of data wanted, 20 left",
                      path.string(), length));
    CHECK(inflated.capacity() <= 2U << 20);
  }
}

TEST_CASE("tfrecord: a record over the limit is refused before it is inflated") {
  ScratchFolder folder;
  write_records(folder / "f", {"small", std::string(20'000'000, '\0')},
                {.compression = Compression::gzip});
  CHECK(std::filesystem::file_size(folder / "f") < 30'000);
  TFRecordReader reader(folder / "f", {.max_record_bytes = 1'000'000});
  std::string record;
  CHECK(reader.next(record));
  CHECK_THROWS_AS(reader.next(record), errors::ResourceExhaustedError);
  CHECK(record.capacity() < 1'000'000);
}

TEST_CASE("tfrecord: a writer that is not closed, or used after it") {
  ScratchFolder folder;
  write_raw(folder / "f", "old");
  for (const Compression compression : kAll) {
    {
      TFRecordWriter writer(folder / "f", {.compression = compression});
      writer.write("new");
    }
    CHECK(read_raw(folder / "f") == "old");
    CHECK(folder.files() == 1);
    TFRecordWriter writer(folder / "g", {.compression = compression});
    writer.close();
    const std::string expected =
        "FailedPreconditionError: " + (folder / "g").string() + " is already committed";
    CHECK(thrown([&] { writer.write("late"); }) == expected);
    CHECK(thrown([&] { writer.close(); }) == expected);
    std::filesystem::remove(folder / "g");
  }
  CHECK(thrown([&] {
          TFRecordWriter(folder / "f", {Compression::gzip, 77});
        }) == "InvalidArgumentError: cannot start zlib for " + (folder / "f").string() +
                  ": stream error");
}

TEST_CASE("tfrecord: the files that TensorFlow wrote [real data]") {
  struct Row {
    const char* name;
    std::size_t records, bytes, smallest, largest;  // from tf.data.TFRecordDataset
  };
  const Row rows[] = {{"chicago-taxi-train-00000-of-00012.tfrecord.gz", 826, 415176, 454, 528},
                      {"imagenet-style-validation-00000-of-00002.tfrecord", 64, 96181, 1088, 2425},
                      {"mnist.tfrecord", 1000, 3187000, 3187, 3187},
                      {"penguin-eval.tfrecord.gz", 100, 13600, 136, 136},
                      {"penguin-train.tfrecord.gz", 234, 31824, 136, 136},
                      {"sequence-examples-eval.tfrecord.gz", 4500, 268200, 47, 61}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(row.records > 0);
    const auto path = testing::real_data(std::string("tfrecord/") + row.name);
    if (!path) continue;
    std::size_t bytes = 0, smallest = ~std::size_t{0}, largest = 0;
    const auto records = read_records(*path);
    for (const std::string& record : records) {
      bytes += record.size();
      smallest = std::min(smallest, record.size());
      largest = std::max(largest, record.size());
    }
    CHECK(records.size() == row.records);
    CHECK(bytes == row.bytes);
    CHECK(smallest == row.smallest);
    CHECK(largest == row.largest);
  }
}

}  // namespace
}  // namespace towerflow::data
