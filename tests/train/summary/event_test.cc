// Reading event files: TensorFlow's, damaged ones, and ones with wrong lengths.
#include "train/summary/event_reader.h"

#include <algorithm>

#include "tests/train/summary/support.h"

namespace towerflow::summary {
namespace {

using namespace towerflow::testing;

const std::filesystem::path kGolden = kSummaryGolden + "events.out.tfevents.golden";

void write_records(const std::filesystem::path& path, const std::vector<std::string>& records) {
  data::TFRecordWriter writer(path);
  for (const std::string& record : records) writer.write(record);
  writer.close();
}

std::string version_record() {
  Event version;
  version.file_version = "brain.Event:2";
  return serialize(version);
}

/// Returns the error that ends reading a whole file, "nothing" if it succeeds.
std::string outcome(const std::filesystem::path& path, EventReaderOptions options = {}) {
  return thrown([&] {
    EventReader reader(path, options);
    while (reader.next()) {
    }
  });
}

TEST_CASE("events: TensorFlow's file") {
  const std::vector<Event> events = read_events(kGolden);
  REQUIRE(events.size() == 5);
  CHECK(events[0].file_version == "brain.Event:2");
  CHECK(events[0].wall_time > 1.7e9);
  REQUIRE(events[1].graph_def);
  CHECK(!events[1].summary);
  CHECK(events[2].step == 4);
  CHECK(events[2].session_log == SessionLog{SessionLog::START, "", "again"});
  for (int step : {5, 6}) {
    const Event& event = events[static_cast<std::size_t>(step) - 2];
    CHECK(event.step == step);
    REQUIRE(event.summary);
    REQUIRE(event.summary->size() == 2);
    CHECK((*event.summary)[0] == SummaryValue{"loss", static_cast<float>(step) / 4, {}});
    CHECK((*event.summary)[1].tag == "image");
  }
}

TEST_CASE("events: what is written is read") {
  HistogramData histogram{-1, 2, 3, 1.5, 5.25, {-0.5, 0.0, 1e308}, {1, 0, 2}};
  Event summary{12.5, -3};
  summary.summary = {{"zero", 0.0F, {}}, {"h", {}, histogram}, {"", {}, {}}};
  Event graph{13.5, 1};
  graph.graph_def = std::string("\0\xff", 2);
  Event meta_graph{14, 2};
  meta_graph.meta_graph_def = "";
  Event log{15, INT64_MAX};
  log.session_log = SessionLog{SessionLog::CHECKPOINT, "model.ckpt-7", "saved"};
  for (const Event& event : {summary, graph, meta_graph, log, Event{}}) {
    CHECK(parse_event(serialize(event)) == event);
  }
  CHECK(parse_event(serialize_event(12.5, -3, serialize_summary(*summary.summary))) == summary);
  CHECK(parse_summary("").empty());
}

TEST_CASE("events: a file that is none, or whose records are not") {
  ScratchFolder folder;
  write_raw(folder / "empty", "");
  CHECK(read_events(folder / "empty").empty());
  CHECK(thrown([&] { EventReader reader(folder / "absent"); }).starts_with("NotFoundError: "));

  // Any message parses as an event without known fields.
  write_records(folder / "examples", {"", ""});
  CHECK(outcome(folder / "examples") ==
        "DataLossError: record 0 of " + (folder / "examples").string() +
            " is not an event: it has no version, \"brain.Event:2\"");

  write_records(folder / "damaged", {version_record(), "\x09short"});
  EventReader reader(folder / "damaged");
  REQUIRE(reader.next());
  const std::string first = thrown([&] { reader.next(); });
  CHECK(first.starts_with("DataLossError: record 1 of "));
  CHECK(thrown([&] { reader.next(); }) == first);
}

TEST_CASE("events: each byte changed, each length cut off") {
  ScratchFolder folder;
  const std::string whole = read_raw(kGolden);
  std::size_t events = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_raw(folder / "cut", whole.substr(0, size));
    const std::string told = outcome(folder / "cut");
    if (told == "nothing")
      ++events;
    else
      CHECK(told.starts_with("DataLossError: truncated record "));
  }
  CHECK(events == 5);  // a cut between two records
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    write_raw(folder / "changed", changed);
    CHECK(outcome(folder / "changed").starts_with("DataLossError: "));
  }
}

TEST_CASE("events: messages that lie about what is in them") {
  const auto field = [](int number, const std::string& bytes) {
    std::string made(1, static_cast<char>(number << 3 | 2));
    for (std::size_t rest = bytes.size();; rest >>= 7) {
      made += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
      if (rest <= 0x7f) break;
    }
    return made + bytes;
  };
  const auto parsed = [](const std::string& bytes) {
    const std::string told = thrown([&] { parse_summary(bytes); });
    return told.substr(0, told.find(':'));
  };
  CHECK(parsed(field(1, "")) == "nothing");
  CHECK(parsed("\x0a") == "DataLossError");  // the length is missing
  CHECK(parsed("\x0a\x05"
               "ab") == "DataLossError");                            // longer than the message
  CHECK(parsed("\x0a\xff\xff\xff\xff\x0f") == "DataLossError");      // 4 GiB
  CHECK(parsed(field(1, field(1, "\xff\xfe"))) == "DataLossError");  // a tag that is not UTF-8
  CHECK(parsed(field(1, "\x2a\x7f")) == "DataLossError");            // a truncated histogram
  CHECK(parsed("\x0c") == "DataLossError");                          // group end without a start
  CHECK(parsed(field(2, "not known")) == "nothing");

  // Each value takes two bytes in the file, but more than a hundred in memory.
  std::string many;
  for (int i = 0; i < (1 << 20) + 1; ++i) many += field(1, "");
  CHECK(parsed(many) == "ResourceExhaustedError");
  many.resize(many.size() - 2);
  CHECK(parse_summary(many).size() == 1 << 20);

  ScratchFolder folder;
  write_records(folder / "large", {version_record(), std::string(2000, 'x')});
  CHECK(outcome(folder / "large", {.max_event_bytes = 1000})
            .starts_with("ResourceExhaustedError: record 1 at byte "));
}

TEST_CASE("events: the event files of a folder, by name") {
  ScratchFolder folder;
  for (const char* name : {"events.out.tfevents.2.b", "model.ckpt", "events.out.tfevents.10.a"}) {
    write_raw(folder / name, "");
  }
  const std::vector<std::filesystem::path> expected = {folder / "events.out.tfevents.10.a",
                                                       folder / "events.out.tfevents.2.b"};
  CHECK(event_files(folder.path()) == expected);
  CHECK(thrown([&] { event_files(folder / "absent"); }).starts_with("NotFoundError: "));
}

}  // namespace
}  // namespace towerflow::summary
