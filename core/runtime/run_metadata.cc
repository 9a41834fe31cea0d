#include "core/runtime/run_metadata.h"

#include <fmt/format.h>

#include <map>

namespace towerflow {
namespace {

std::string json_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

std::string RunMetadata::chrome_trace() const {
  std::string text = "{\"traceEvents\": [";
  std::map<std::string, int> threads;
  const char* comma = "";
  const auto add = [&](const std::string& event) {
    text += comma + ("\n  " + event);
    comma = ",";
  };
  for (const NodeStats& stats : nodes) {
    std::string row = stats.device + (simulated ? " (virtual time)" : "");
    if (stats.lane != Lane::compute) row += fmt::format(", {}", lane_name(stats.lane));
    const auto [it, added] = threads.emplace(row, static_cast<int>(threads.size()));
    if (added) {
      add(
          fmt::format("{{\"ph\": \"M\", \"pid\": 0, \"tid\": {}, \"name\": \"thread_name\", "
                      "\"args\": {{\"name\": {}}}}}",
                      it->second, json_quoted(row)));
    }
    const double begin = simulated ? stats.virtual_begin : stats.begin;
    const double end = simulated ? stats.virtual_end : stats.end;
    if (stats.kind == NodeStats::Kind::commit || end <= begin) continue;
    const std::string name = stats.kind == NodeStats::Kind::wait   ? "wait"
                             : stats.kind == NodeStats::Kind::copy ? "copy " + stats.node
                                                                   : stats.op;
    add(
        fmt::format("{{\"ph\": \"X\", \"pid\": 0, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}, "
                    "\"name\": {}, \"args\": {{\"node\": {}, \"kernel\": {}}}}}",
                    it->second, begin * 1e6, (end - begin) * 1e6, json_quoted(name),
                    json_quoted(stats.node), json_quoted(stats.label)));
  }
  return text + "\n]}\n";
}

}  // namespace towerflow
