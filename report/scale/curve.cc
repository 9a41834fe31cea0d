#include "report/scale/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/device/backend.h"
#include "core/graph/error.h"

namespace towerflow::report {
namespace {

std::optional<int> tower_count(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && stop == text.data() + text.size();
  return whole && value >= 1 && value <= kMaxDevices ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse_towers(std::string_view text) {
  throw ValueError(
      fmt::format("numbers of towers: wanted 8, or 8,16,24, or 8..1024 for 8, 16, "
                  "32, .., 1024, each from 1 to {}, got '{}'",
                  kMaxDevices, text));
}

}  // namespace

std::vector<int> parse_tower_counts(std::string_view text) {
  std::vector<int> counts;
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    const auto first = tower_count(text.substr(0, dots)), last = tower_count(text.substr(dots + 2));
    if (!first || !last || *first > *last) refuse_towers(text);
    for (int count = *first; count < *last; count *= 2) counts.push_back(count);
    counts.push_back(*last);
    return counts;
  }
  std::string_view left = text;
  while (true) {
    const std::size_t comma = left.find(',');
    const auto count = tower_count(left.substr(0, comma));
    if (!count || (!counts.empty() && *count <= counts.back())) refuse_towers(text);
    counts.push_back(*count);
    if (comma == std::string_view::npos) return counts;
    left.remove_prefix(comma + 1);
  }
}

std::string curve_table(const std::vector<ScaleCurve>& curves) {
  std::string text = fmt::format("  {:<17}{:>7}{:>12}{:>11}{:>12}{:>13}{:>12}{:>13}  bound by\n",
                                 "strategy", "towers", "examples/s", "ms a step", "efficiency",
                                 "messages", "hidden", "exposed");
  for (const ScaleCurve& curve : curves) {
    for (std::size_t i = 0; i < curve.towers.size(); ++i) {
      const ScaleResult& result = curve.results[i];
      text += fmt::format(
          "  {:<17}{:>7}{:>12.{}f}{:>11.2f}{:>10.1f} %{:>10.2f} ms{:>9.2f} ms{:>10.2f} ms  {}\n",
          i == 0 ? curve.name : "", curve.towers[i], curve.rate(i), curve.rate(i) < 1000 ? 1 : 0,
          1e3 * result.step, 100 * result.efficiency(), 1e3 * result.messages,
          1e3 * result.hidden(), 1e3 * result.exposed(), result.bound());
    }
  }
  return text;
}

std::string published_table(const PublishedCurve& published, const ScaleCurve& simulated) {
  std::string text = fmt::format("{} ({})\n", published.name, published.source);
  for (std::size_t i = 0; i < published.points.size(); ++i) {
    const PublishedPoint& point = published.points[i];
    const double share = simulated.rate(i) / point.examples_per_second - 1;
    text +=
        fmt::format("  {:>5} tower{}{:>10.{}f} published{:>10.{}f} simulated{:>+8.1f} %  {}{}\n",
                    point.towers, point.towers == 1 ? " " : "s", point.examples_per_second,
                    point.examples_per_second < 1000 ? 1 : 0, simulated.rate(i),
                    simulated.rate(i) < 1000 ? 1 : 0, 100 * share, simulated.results[i].bound(),
                    point.differs ? ", not reproduced" : "");
  }
  if (!published.differs.empty()) {
    text += fmt::format("  not reproduced: {}\n", published.differs);
  }
  return text;
}

}  // namespace towerflow::report
