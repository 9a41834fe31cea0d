// Event files, for `towerflow inspect`.
#include <fmt/format.h>

#include <span>

#include "data/byte_order.h"
#include "data/event_summary.h"
#include "data/tfrecord.h"
#include "tools/inspect.h"
#include "tools/progress.h"
#include "tools/text.h"

namespace towerflow::tools {
namespace {

using data::EventSummary;
using data::TagSummary;
using nlohmann::ordered_json;

std::string from_to(const std::string& first, const std::string& last) {
  return first == last ? first : fmt::format("{} to {}", first, last);
}

void print_tags(const EventSummary& summary, const InspectOptions& options) {
  TextTable table("llrlll");
  table.add({"tag", "kind", "points", "steps", "first to last value", "range"});
  for (const TagSummary& tag : summary.tags) {
    if (!options.all && table.rows() > kShownRows) break;
    const std::string steps =
        from_to(std::to_string(tag.first_step), std::to_string(tag.last_step));
    std::string values, range;
    if (tag.kind == "scalar") {
      values =
          from_to(fmt::format("{:.6g}", tag.first_value), fmt::format("{:.6g}", tag.last_value));
      if (tag.values.finite() > 0) {
        range = from_to(value_text(tag.values.min(), DType::float32),
                        value_text(tag.values.max(), DType::float32));
      }
      const std::uint64_t odd = tag.values.nan() + tag.values.infinite();
      if (odd > 0) range += fmt::format("{}{} not finite", range.empty() ? "" : ", ", odd);
    }
    table.add({printable(tag.tag, 80), tag.kind, std::to_string(tag.points), steps, values, range});
  }
  fmt::print("{}{}", table.text(), omitted_rows_text(summary.tags.size(), options));
  if (summary.tags_left_out > 0)
    fmt::print("  and more than {} tags: further ones are not told apart\n", data::kMaxTags);
}

ordered_json tag_json(const TagSummary& tag) {
  ordered_json json;
  json["tag"] = tag.tag;
  json["kind"] = tag.kind;
  json["points"] = tag.points;
  json["first_step"] = tag.first_step;
  json["last_step"] = tag.last_step;
  if (tag.kind == "scalar") {
    json["first_value"] = tag.first_value;
    json["last_value"] = tag.last_value;
    json["statistics"] = statistics_json(tag.values, DType::float32);
  }
  return json;
}

ordered_json events_json(const Subject& subject, const EventSummary& summary) {
  ordered_json json;
  json["file"] = subject.path.string();
  json["kind"] = "events";
  json["file_bytes"] = subject.bytes;
  json["version"] = summary.version;
  json["events"] = summary.events;
  json["graphs"] = summary.graphs;
  json["first_time"] = summary.first_time;
  json["last_time"] = summary.last_time;
  json["tags"] = ordered_json::array();
  for (const TagSummary& tag : summary.tags) json["tags"].push_back(tag_json(tag));
  json["tags_left_out"] = summary.tags_left_out;
  json["damage"] = nullptr;
  if (summary.damage) {
    json["damage"] = {{"record", summary.events},
                      {"byte", summary.bytes},
                      {"message", summary.damage->message()}};
  }
  return json;
}

}  // namespace

std::string why_not_events(const Subject& subject) {
  if (!subject.file) return subject.folder ? "this is a folder" : "there is no such file";
  const std::string_view start = subject.start;
  if (subject.compression == data::Compression::none &&
      data::is_record_header(std::as_bytes(std::span(start)))) {
    const auto length = data::load_little<std::uint64_t>(std::as_bytes(std::span(start)));
    const std::string_view rest = start.substr(data::kRecordHeaderBytes);
    if (length <= rest.size() && data::is_version_event(rest.substr(0, length))) return "";
  }
  return "it does not begin with a record that says brain.Event";
}

Findings print_events(const Subject& subject, const InspectOptions& options) {
  Progress progress("reading");
  const EventSummary summary = data::summarize_events(subject.path, [&](std::uint64_t done) {
    progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(subject.bytes));
  });
  progress.finish();
  fmt::print("{}: events, {}, {}\n{}, written {}{}\n", subject.path.string(),
             printable(summary.version, 40), size_text(subject.bytes),
             count_text(summary.events, "event"),
             from_to(time_text(summary.first_time), time_text(summary.last_time)),
             summary.graphs > 0 ? ", with " + count_text(summary.graphs, "graph") : "");
  if (!summary.tags.empty()) print_tags(summary, options);
  if (summary.damage) {
    fmt::print("Damaged: reading stops at record {} at byte {}.\n", summary.events, summary.bytes);
  }
  return {.json = events_json(subject, summary), .damage = summary.damage};
}

}  // namespace towerflow::tools
