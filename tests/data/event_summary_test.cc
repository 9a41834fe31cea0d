#include "data/event_summary.h"

#include <fmt/format.h>

#include <bit>

#include "data/byte_order.h"
#include "data/tfrecord.h"
#include "tests/data/support.h"

namespace towerflow::data {
namespace {

using testing::read_raw;
using testing::ScratchFolder;
using testing::thrown;
using testing::write_raw;

const std::filesystem::path kFixture = "tests/data/fixtures/events.tfevents";

/// Returns a length-delimited protobuf field of fewer than 128 bytes.
std::string field(int number, const std::string& bytes) {
  REQUIRE(bytes.size() < 128);
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
         bytes;
}

std::string version_event() { return field(3, "brain.Event:2"); }

/// Returns an event with one scalar at a step below 128.
std::string scalar(const std::string& tag, char step, float value) {
  std::string number(4, '\0');
  store_little(std::as_writable_bytes(std::span(number)), std::bit_cast<std::uint32_t>(value));
  return std::string("\x10") + step + field(5, field(1, field(1, tag) + "\x15" + number));
}

void write_records(const std::filesystem::path& path, const std::vector<std::string>& records) {
  TFRecordWriter writer(path);
  for (const std::string& record : records) writer.write(record);
  writer.close();
}

TEST_CASE("event summary: what TensorFlow wrote") {
  std::uint64_t progress = 0;
  const EventSummary summary =
      summarize_events(kFixture, [&](std::uint64_t stored) { progress = stored; });
  CHECK(summary.version == "brain.Event:2");
  CHECK(summary.events == 5);
  CHECK(summary.graphs == 1);
  CHECK(summary.last_time == 1700000003.25);
  CHECK(summary.first_time > 1700000003.25);  // set by TensorFlow when the fixture was made
  CHECK(summary.bytes == read_raw(kFixture).size());
  CHECK(progress == summary.bytes);
  CHECK_FALSE(summary.damage.has_value());
  REQUIRE(summary.tags.size() == 3);
  const TagSummary& loss = summary.tags[0];
  CHECK((loss.tag == "loss" && loss.kind == "scalar" && loss.points == 3));
  CHECK((loss.first_step == 0 && loss.last_step == 20));
  CHECK((loss.first_value == 2.5F && loss.last_value == 1.0F));
  CHECK((loss.values.min() == 0.75F && loss.values.max() == 2.5F));
  const TagSummary& rate = summary.tags[1];
  CHECK((rate.tag == "rate" && rate.points == 1 && rate.first_step == 10));
  CHECK(rate.values.nan() == 1);
  const TagSummary& weights = summary.tags[2];
  CHECK((weights.tag == "weights" && weights.kind == "histogram" && weights.last_step == 20));
  CHECK(weights.values.count() == 0);
}

TEST_CASE("event summary: the first record tells an event file") {
  CHECK(is_version_event(version_event()));
  TFRecordReader reader(kFixture);
  CHECK(is_version_event(reader.next().value()));
  CHECK_FALSE(is_version_event(reader.next().value()));
  CHECK_FALSE(is_version_event(""));
  CHECK_FALSE(is_version_event(field(3, "brain.Evil")));
  CHECK_FALSE(is_version_event(version_event().substr(0, 8)));
}

TEST_CASE("event summary: cut at every byte, flipped, and records that are no events") {
  const ScratchFolder folder;
  const auto path = folder / "f";
  write_records(path, {version_event(), scalar("a", 1, 2), scalar("a", 3, 4)});
  const std::string whole = read_raw(path);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    write_raw(path, whole.substr(0, length));
    const EventSummary summary = summarize_events(path);
    CHECK(summary.events <= 2);
    CHECK(summary.bytes <= length);
    CHECK(summary.damage.has_value() == (summary.bytes != length));
    CHECK(summary.tags.size() == (summary.events < 2 ? 0U : 1U));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    write_raw(path, flipped);
    CHECK(summarize_events(path).damage.has_value());
  }
  const std::string good = scalar("a", 1, 2);
  for (const std::string& bad :
       {good.substr(0, good.size() - 1),
        std::string("\x09"
                    "abc"),
        std::string(1, '\0'), field(5, field(1, field(1, "a") + "\x15")), field(5, "\x0a\x7f")}) {
    write_records(path, {version_event(), good, bad, good});
    const EventSummary summary = summarize_events(path);
    CHECK(summary.events == 2);
    REQUIRE(summary.tags.size() == 1);
    CHECK(summary.tags[0].points == 1);
    REQUIRE(summary.damage.has_value());
    CHECK(summary.damage->message() ==
          fmt::format("record 2 at byte {} of {} is not an event", summary.bytes, path.string()));
  }
}

TEST_CASE("event summary: memory does not grow with tags") {
  const ScratchFolder folder;
  std::vector<std::string> records{version_event()};
  for (std::size_t i = 0; i < kMaxTags + 7; ++i)
    records.push_back(scalar(fmt::format("t{:05}", i), 1, 1));
  records.push_back(scalar("t00000", 2, 1));
  write_records(folder / "f", records);
  const EventSummary summary = summarize_events(folder / "f");
  CHECK(summary.tags.size() == kMaxTags);
  CHECK(summary.tags_left_out == 7);
  CHECK(summary.tags[0].points == 2);
  CHECK(thrown([&] { summarize_events(folder / "absent"); }).find("NotFound") == 0);
}

}  // namespace
}  // namespace towerflow::data
