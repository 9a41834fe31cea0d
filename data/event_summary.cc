// The field numbers are the public ones of tensorflow/core/util/event.proto and
// tensorflow/core/framework/summary.proto. The wire format is walked without parsing it into
// messages, so that a graph of megabytes is skipped and a hostile record takes no memory.
#include "data/event_summary.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <map>

#include "data/example_wire.h"
#include "data/tfrecord.h"

namespace towerflow::data {
namespace {

using wire::CodedInputStream;
using wire::WireFormatLite;

constexpr std::size_t kTextBytes = 256;  // kept of a tag or version
constexpr std::string_view kVersionStart = "brain.Event:";

constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
constexpr auto kFixed32 = WireFormatLite::WIRETYPE_FIXED32;
constexpr auto kFixed64 = WireFormatLite::WIRETYPE_FIXED64;

/// The fields of an Event that the summary uses.
struct Event {
  double time = 0;
  std::int64_t step = 0;
  std::string_view version;
  std::string_view summary;
  bool graph = false;
};

/// The fields of a Summary.Value that the summary uses.
struct Value {
  std::string_view tag;
  const char* kind = "none";
  float number = 0;
};

bool read_event(std::string_view record, Event& event) {
  if (record.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
  return wire::for_each_field(record, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag == wire::tag_of(1, kFixed64)) {
      std::uint64_t bits = 0;
      if (!stream.ReadLittleEndian64(&bits)) return false;
      event.time = std::bit_cast<double>(bits);
      return true;
    }
    if (tag == wire::tag_of(2, kVarint)) {
      std::uint64_t step = 0;
      if (!stream.ReadVarint64(&step)) return false;
      event.step = static_cast<std::int64_t>(step);
      return true;
    }
    if (tag == wire::tag_of(3, wire::kDelimited))
      return wire::read_delimited(stream, event.version);
    if (tag == wire::tag_of(5, wire::kDelimited))
      return wire::read_delimited(stream, event.summary);
    if (tag == wire::tag_of(4, wire::kDelimited)) event.graph = true;
    return WireFormatLite::SkipField(&stream, tag);
  });
}

/// Returns the kind of value that a field of Summary.Value holds; nullptr for other fields.
const char* kind_of_field(std::uint32_t field) {
  switch (field) {
    case 3:
      return "old histogram";
    case 4:
      return "image";
    case 5:
      return "histogram";
    case 6:
      return "audio";
    case 8:
      return "tensor";
    default:
      return nullptr;
  }
}

bool read_value(std::string_view message, Value& value) {
  return wire::for_each_field(message, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag == wire::tag_of(1, wire::kDelimited)) return wire::read_delimited(stream, value.tag);
    if (tag == wire::tag_of(2, kFixed32)) {
      std::uint32_t bits = 0;
      if (!stream.ReadLittleEndian32(&bits)) return false;
      value.number = std::bit_cast<float>(bits);
      value.kind = "scalar";
      return true;
    }
    if (const char* kind = kind_of_field(tag >> 3); kind != nullptr) value.kind = kind;
    return WireFormatLite::SkipField(&stream, tag);
  });
}

/// Calls `visit(value)` for each value of a Summary; returns whether the bytes are a valid Summary.
template <class F>
bool for_each_value(std::string_view summary, F&& visit) {
  return wire::for_each_field(summary, [&](std::uint32_t tag, CodedInputStream& stream) {
    if (tag != wire::tag_of(1, wire::kDelimited)) return WireFormatLite::SkipField(&stream, tag);
    std::string_view message;
    Value value;
    if (!wire::read_delimited(stream, message) || !read_value(message, value)) return false;
    visit(value);
    return true;
  });
}

/// Accumulates the summary of a file's events.
class Summarizer {
 public:
  /// Adds a record and returns whether it is a valid event; ignores it otherwise.
  bool add(std::string_view record) {
    Event event;
    if (!read_event(record, event) || !for_each_value(event.summary, [](const Value&) {}))
      return false;
    if (summary.events == 0) summary.first_time = event.time;
    summary.last_time = event.time;
    ++summary.events;
    if (event.graph) ++summary.graphs;
    if (summary.version.empty()) summary.version = event.version.substr(0, kTextBytes);
    for_each_value(event.summary, [&](const Value& value) { add(value, event.step); });
    return true;
  }

  EventSummary take() {
    for (auto& [tag, one] : by_tag_) summary.tags.push_back(std::move(one));
    return std::move(summary);
  }

  EventSummary summary;

 private:
  void add(const Value& value, std::int64_t step) {
    const std::string_view tag = value.tag.substr(0, kTextBytes);
    auto found = by_tag_.find(tag);
    if (found == by_tag_.end()) {
      if (by_tag_.size() == kMaxTags) {
        ++summary.tags_left_out;
        return;
      }
      found = by_tag_.emplace(std::string(tag), TagSummary{.tag = std::string(tag)}).first;
    }
    TagSummary& one = found->second;
    if (one.points++ == 0) {
      one.first_step = step;
      one.first_value = value.number;
    }
    one.last_step = step;
    one.last_value = value.number;
    one.kind = value.kind;
    if (one.kind == "scalar") one.values.add(value.number);
  }

  std::map<std::string, TagSummary, std::less<>> by_tag_;
};

}  // namespace

bool is_version_event(std::string_view record) {
  Event event;
  return read_event(record, event) && event.version.starts_with(kVersionStart);
}

EventSummary summarize_events(const std::filesystem::path& path,
                              const std::function<void(std::uint64_t)>& progress) {
  TFRecordReader reader(path, {.compression = Compression::none});
  Summarizer events;
  std::string record;
  std::uint64_t begin = 0;
  try {
    while (reader.next(record)) {
      if (!events.add(record)) {
        throw errors::DataLossError(fmt::format("record {} at byte {} of {} is not an event",
                                                events.summary.events, begin, path.string()));
      }
      begin = reader.byte_offset();
      if (progress) progress(reader.stored_position());
    }
  } catch (const errors::OpError& error) {
    events.summary.damage = error;
  }
  events.summary.bytes = begin;
  return events.take();
}

}  // namespace towerflow::data
