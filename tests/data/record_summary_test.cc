#include "data/record_summary.h"

#include <fmt/format.h>

#include <cmath>

#include "data/example.h"
#include "data/tfrecord.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::read_raw;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;

void write_records(const std::filesystem::path& path, const std::vector<std::string>& records) {
  TFRecordWriter writer(path);
  for (const std::string& record : records) writer.write(record);
  writer.close();
}

/// Returns the summary of an uncompressed file with `records`.
RecordSummary summary_of(const std::vector<std::string>& records) {
  const ScratchFolder folder;
  write_records(folder / "f", records);
  return summarize_records(folder / "f", Compression::none);
}

TEST_CASE("record summary: TensorFlow's files, however compressed") {
  const std::filesystem::path fixtures = "tests/data/fixtures";
  const std::uint64_t bytes = read_raw(fixtures / "small.tfrecord").size();
  for (const auto& [ending, compression] :
       {std::pair("", Compression::none), std::pair(".gz", Compression::gzip),
        std::pair(".zlib", Compression::zlib)}) {
    const std::string name = std::string("small.tfrecord") + ending;
    CAPTURE(name);
    std::uint64_t progress = 0;
    const RecordSummary summary = summarize_records(
        fixtures / name, compression, [&](std::uint64_t stored) { progress = stored; });
    CHECK(summary.records == 5);
    CHECK(summary.bytes == bytes);
    CHECK((summary.record_bytes.least == 0 && summary.record_bytes.most == 5000));
    CHECK(summary.examples == 0);
    CHECK(summary.features.empty());
    CHECK_FALSE(summary.damage.has_value());
    CHECK(progress == read_raw(fixtures / name).size());
  }
}

TEST_CASE("record summary: features by name, with kinds, ranges and first values") {
  const RecordSummary summary = summary_of(
      {ExampleBuilder().int64_list("mixed", {}).float_list("f", {1.5F, NAN, -2}).serialize(),
       ExampleBuilder().int64_list("mixed", {7, -9}).bytes("b", "abc").serialize(),
       ExampleBuilder().float_list("mixed", {0.25F}).bytes("b", std::string(70, 'x')).serialize(),
       "no Example"});
  CHECK(summary.records == 4);
  CHECK(summary.examples == 3);
  REQUIRE(summary.features.size() == 3);
  const FeatureSummary& b = summary.features[0];
  CHECK(b.name == "b");
  CHECK(b.examples == 2);
  CHECK(b.kinds == std::array<std::uint64_t, 4>{0, 2, 0, 0});
  CHECK((b.bytes.least == 3 && b.bytes.most == 70));
  CHECK(b.first_bytes == std::vector<std::string>{"abc"});
  const FeatureSummary& f = summary.features[1];
  CHECK((f.values.least == 3 && f.values.most == 3));
  CHECK((f.floats.least == -2 && f.floats.most == 1.5F));
  CHECK(f.nan == 1);
  CHECK(f.first_floats.size() == 3);
  const FeatureSummary& mixed = summary.features[2];
  CHECK(mixed.examples == 3);
  CHECK(mixed.kinds == std::array<std::uint64_t, 4>{0, 0, 1, 2});
  CHECK((mixed.values.least == 0 && mixed.values.most == 2));
  CHECK((mixed.ints.least == -9 && mixed.ints.most == 7));
  CHECK((mixed.floats.least == 0.25F && mixed.floats.most == 0.25F));
  CHECK(mixed.first_ints == std::vector<std::int64_t>{7, -9});
  CHECK(mixed.first_floats.empty());
}

TEST_CASE("record summary: cut at every byte, what is whole counts and the damage is placed") {
  const ScratchFolder folder;
  const auto path = folder / "f";
  write_records(path, {"one", "", ExampleBuilder().int64("label", 3).serialize()});
  const std::string whole = read_raw(path);
  const std::vector<std::size_t> ends = {19, 35, whole.size()};
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CAPTURE(length);
    write_raw(path, whole.substr(0, length));
    const RecordSummary summary = summarize_records(path, Compression::none);
    const std::uint64_t records = length < 19 ? 0 : length < 35 ? 1 : 2;
    CHECK(summary.records == records);
    CHECK(summary.bytes == (records == 0 ? 0 : ends[records - 1]));
    CHECK(summary.examples == 0);
    REQUIRE(summary.damage.has_value() == (length != 19 && length != 35));
    if (!summary.damage) continue;
    CHECK(summary.damage->code() == errors::Code::data_loss);
    CHECK(summary.damage->message().find(fmt::format("truncated record {} at byte {} of {}",
                                                     records, summary.bytes, path.string())) == 0);
  }
  std::string flipped = whole;
  flipped[32] = static_cast<char>(flipped[32] ^ 1);  // a checksum of the second record
  write_raw(path, flipped);
  const RecordSummary summary = summarize_records(path, Compression::none);
  CHECK(summary.records == 1);
  REQUIRE(summary.damage.has_value());
  CHECK(summary.damage->message().find("corrupted record 1 at byte 19") == 0);
}

TEST_CASE("record summary: a record that is not wholly an Example leaves no trace") {
  const std::string good = ExampleBuilder().int64("a", 1).serialize();
  std::string bad = good + ExampleBuilder().float_list("b", {1, 2}).serialize();
  bad[bad.size() - 9] = 7;  // the floats take 7 bytes
  const RecordSummary summary = summary_of({good, bad, good.substr(0, good.size() - 1)});
  CHECK(summary.examples == 1);
  REQUIRE(summary.features.size() == 1);
  CHECK(summary.features[0].examples == 1);
}

TEST_CASE("record summary: memory does not grow with names") {
  ExampleBuilder builder;
  for (std::size_t i = 0; i < kMaxFeatures + 500; ++i) builder.int64(fmt::format("n{:05}", i), 1);
  const std::string many = builder.serialize();
  builder.clear();
  const std::string wide = builder.int64(std::string(100000, 'w'), 1).serialize();
  const RecordSummary summary = summary_of({wide, many, many});
  CHECK(summary.examples == 3);
  CHECK(summary.features.size() == kMaxFeatures);
  CHECK(summary.features_left_out == 2 * 501);
  CHECK(summary.features.back().name == std::string(256, 'w'));
}

TEST_CASE("record summary: a file that cannot be opened") {
  const ScratchFolder folder;
  CHECK(thrown([&] { summarize_records(folder / "absent", Compression::none); }).find("NotFound") ==
        0);
}

}  // namespace
}  // namespace towerflow::data
