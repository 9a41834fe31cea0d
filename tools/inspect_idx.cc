// IDX files, for `towerflow inspect`.
#include <fmt/format.h>

#include "data/idx_summary.h"
#include "tools/inspect.h"
#include "tools/progress.h"
#include "tools/text.h"

namespace towerflow::tools {
namespace {

using data::IdxSummary;
using nlohmann::ordered_json;

/// Returns how often each value occurs, if there are few different values, as with labels;
/// otherwise "".
std::string counts_text(const IdxSummary& summary) {
  constexpr int kMost = 16;
  int different = 0;
  std::string text;
  for (std::size_t value = 0; value < summary.counts.size(); ++value) {
    if (summary.counts[value] == 0) continue;
    text += fmt::format("{}{}: {}", different == 0 ? "" : ", ", value, summary.counts[value]);
    if (++different > kMost) return "";
  }
  return text;
}

ordered_json idx_json(const Subject& subject, const IdxSummary& summary) {
  ordered_json json;
  json["file"] = subject.path.string();
  json["kind"] = "IDX";
  json["compression"] = compression_name(summary.compression);
  json["file_bytes"] = subject.bytes;
  json["dtype"] = dtype_name(summary.dtype);
  json["shape"] = summary.shape.sizes();
  json["statistics"] = statistics_json(summary.values, summary.dtype);
  if (!counts_text(summary).empty()) {
    ordered_json counts;
    for (std::size_t value = 0; value < summary.counts.size(); ++value) {
      if (summary.counts[value] > 0) counts[std::to_string(value)] = summary.counts[value];
    }
    json["counts"] = counts;
  }
  return json;
}

}  // namespace

std::string why_not_idx(const Subject& subject) {
  if (!subject.file) return subject.folder ? "this is a folder" : "there is no such file";
  const std::string& start = subject.start;
  // uint8, int8, int16, int32, float32, float64
  static constexpr std::string_view kTypes = "\x08\x09\x0b\x0c\x0d\x0e";
  if (start.size() >= 4 && start[0] == 0 && start[1] == 0 &&
      kTypes.find(start[2]) != std::string_view::npos && start[3] != 0)
    return "";
  return "bytes 0 to 3 are not two zeros, a type and a number of dimensions";
}

Findings print_idx(const Subject& subject, const InspectOptions&) {
  Progress progress("reading");
  const IdxSummary summary =
      data::summarize_idx(subject.path, [&](std::uint64_t done, std::uint64_t total) {
        progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
      });
  progress.finish();
  const std::uint64_t bytes =
      summary.values.count() * dtype_size(summary.dtype) + 4 + 4 * summary.shape.sizes().size();
  fmt::print("{}: IDX, {}\n{} {}{}\n", subject.path.string(), stored_text(subject, bytes),
             dtype_name(summary.dtype), summary.shape.text(),
             summary.values.count() == 0 ? ", no values"
                                         : ", " + statistics_text(summary.values, summary.dtype));
  if (const std::string counts = counts_text(summary); !counts.empty())
    fmt::print("  how often each value occurs: {}\n", counts);
  return {.json = idx_json(subject, summary), .damage = std::nullopt};
}

}  // namespace towerflow::tools
