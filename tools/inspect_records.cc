// TFRecord files, for `towerflow inspect`.
#include <fmt/format.h>

#include <algorithm>

#include "data/record_summary.h"
#include "data/tfrecord.h"
#include "tools/inspect.h"
#include "tools/progress.h"
#include "tools/text.h"

namespace towerflow::tools {
namespace {

using data::FeatureSummary;
using data::RecordSummary;
using nlohmann::ordered_json;

constexpr std::array kKindNames{"empty", "bytes", "float", "int64"};
constexpr std::size_t kShownBytes = 16;  // of a bytes value
constexpr std::size_t kShownValues = 4;  // in a table

template <class T>
std::string range_text(const data::Range<T>& range, const char* format = "{}") {
  if (range.empty()) return "";
  const std::string least = fmt::format(fmt::runtime(format), range.least);
  if (range.least == range.most) return least;
  return fmt::format("{} to {}", least, fmt::format(fmt::runtime(format), range.most));
}

template <class T>
std::string list_text(const std::vector<T>& first, std::uint64_t count) {
  const std::size_t shown = std::min(first.size(), kShownValues);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    if constexpr (std::is_same_v<T, std::string>)
      text += "'" + printable(first[i], kShownBytes) + "'";
    else
      text += fmt::format("{}", first[i]);
  }
  return text + (shown < count && shown < first.size() ? ", ..." : "");
}

/// Returns "int64", or "int64, float" if Examples differ.
std::string kind_text(const FeatureSummary& feature) {
  std::string text;
  for (std::size_t kind = 0; kind < kKindNames.size(); ++kind) {
    if (feature.kinds[kind] > 0) text += (text.empty() ? "" : ", ") + std::string(kKindNames[kind]);
  }
  return text;
}

/// Returns the range of the values, or of their lengths.
std::string values_text(const FeatureSummary& feature) {
  std::string text = range_text(feature.ints);
  const auto append_part = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  append_part(range_text(feature.floats, "{:.6g}"));
  if (feature.nan > 0) append_part(count_text(feature.nan, "NaN"));
  if (!feature.bytes.empty()) append_part(range_text(feature.bytes) + " bytes each");
  return text;
}

std::string first_text(const FeatureSummary& feature) {
  const std::uint64_t count = feature.values.most;
  if (!feature.first_ints.empty()) return list_text(feature.first_ints, count);
  if (!feature.first_floats.empty()) return list_text(feature.first_floats, count);
  return list_text(feature.first_bytes, count);
}

void print_features(const RecordSummary& summary, const InspectOptions& options) {
  TextTable table("llrrll");
  table.add({"feature", "kind", "in", "values", "range", "first"});
  for (const FeatureSummary& feature : summary.features) {
    if (!options.all && table.rows() > kShownRows) break;
    const bool everywhere = feature.examples == summary.examples;
    table.add({printable(feature.name, 60), kind_text(feature),
               everywhere ? "" : fmt::format("{} Examples", feature.examples),
               range_text(feature.values), values_text(feature), first_text(feature)});
  }
  fmt::print("{}{}", table.text(), omitted_rows_text(summary.features.size(), options));
  if (summary.features_left_out > 0) {
    fmt::print("  and more than {} names: further ones are not told apart\n", data::kMaxFeatures);
  }
}

std::string examples_text(const RecordSummary& summary) {
  if (summary.examples == 0) return "none is a tf.train.Example";
  if (summary.examples == summary.records) return "all are tf.train.Example";
  return fmt::format("{} of them tf.train.Example", summary.examples);
}

void print_summary(const Subject& subject, const RecordSummary& summary,
                   const InspectOptions& options) {
  fmt::print("{}: TFRecord, {}\n", subject.path.string(), stored_text(subject, summary.bytes));
  if (summary.records == 0) {
    fmt::print("no record{}\n", summary.damage ? " is whole" : "");
  } else {
    fmt::print("{} of {} bytes, {}\n", count_text(summary.records, "record"),
               range_text(summary.record_bytes), examples_text(summary));
  }
  if (!summary.features.empty()) print_features(summary, options);
  if (summary.damage) {
    fmt::print("Damaged: reading stops at record {} at byte {}.\n", summary.records, summary.bytes);
  }
}

template <class T>
void set_range(ordered_json& json, const char* least, const char* most,
               const data::Range<T>& range) {
  if (range.empty()) return;
  json[least] = range.least;
  json[most] = range.most;
}

ordered_json feature_json(const FeatureSummary& feature) {
  ordered_json json;
  json["name"] = feature.name;
  json["kind"] = kind_text(feature);
  json["examples"] = feature.examples;
  set_range(json, "least_values", "most_values", feature.values);
  set_range(json, "least_bytes", "most_bytes", feature.bytes);
  set_range(json, "min", "max", feature.floats);
  set_range(json, "min", "max", feature.ints);
  if (feature.kinds[2] > 0) json["nan"] = feature.nan;
  ordered_json first = ordered_json::array();
  for (const std::int64_t value : feature.first_ints) first.push_back(value);
  for (const float value : feature.first_floats) first.push_back(value);
  for (const std::string& value : feature.first_bytes) first.push_back(printable(value, 64));
  json["first"] = first;
  return json;
}

ordered_json records_json(const Subject& subject, const RecordSummary& summary) {
  ordered_json json;
  json["file"] = subject.path.string();
  json["kind"] = "TFRecord";
  json["compression"] = compression_name(summary.compression);
  json["file_bytes"] = subject.bytes;
  json["bytes"] = summary.bytes;
  json["records"] = summary.records;
  set_range(json, "least_record_bytes", "most_record_bytes", summary.record_bytes);
  json["examples"] = summary.examples;
  json["features"] = ordered_json::array();
  for (const FeatureSummary& feature : summary.features)
    json["features"].push_back(feature_json(feature));
  json["features_left_out"] = summary.features_left_out;
  json["damage"] = nullptr;
  if (summary.damage) {
    json["damage"] = {{"record", summary.records},
                      {"byte", summary.bytes},
                      {"message", summary.damage->message()}};
  }
  return json;
}

}  // namespace

std::string why_not_records(const Subject& subject) {
  if (!subject.file) return subject.folder ? "this is a folder" : "there is no such file";
  if (subject.start.empty() && subject.problem.empty()) return "";
  if (data::is_record_header(std::as_bytes(std::span(subject.start)))) return "";
  return fmt::format("the checksum in bytes 8 to 11{} does not fit bytes 0 to 7",
                     subject.compression == data::Compression::none ? "" : " (decompressed)");
}

Findings print_records(const Subject& subject, const InspectOptions& options) {
  Progress progress("reading");
  const RecordSummary summary =
      data::summarize_records(subject.path, subject.compression, [&](std::uint64_t done) {
        progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(subject.bytes));
      });
  progress.finish();
  print_summary(subject, summary, options);
  return {.json = records_json(subject, summary), .damage = summary.damage};
}

}  // namespace towerflow::tools
