#include "tools/text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace towerflow::tools {

std::string size_text(std::uint64_t bytes) {
  static constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return count_text(bytes, "byte");
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", size, size < 10 ? 2 : size < 100 ? 1 : 0, kUnits[unit]);
}

std::string count_text(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string printable(std::string_view bytes, std::size_t limit) {
  std::string text;
  for (const char c : bytes.substr(0, limit)) {
    if (c == '\\')
      text += "\\\\";
    else if (c >= ' ' && c <= '~')
      text += c;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return bytes.size() > limit ? text + "..." : text;
}

std::string time_text(double seconds) {
  constexpr double kMost = 253402300799;  // the end of the year 9999
  if (!(seconds >= 0 && seconds <= kMost)) return "?";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths(alignment_.size());
  std::vector<bool> used(alignment_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], rows_[row][i].size());
      if (row > 0 && !rows_[row][i].empty()) used[i] = true;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!used[i]) continue;
      line += alignment_[i] == 'r' ? fmt::format("  {:>{}}", row[i], widths[i])
                                   : fmt::format("  {:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace towerflow::tools
