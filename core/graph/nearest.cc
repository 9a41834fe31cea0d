#include "core/graph/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace towerflow {
namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest_names(const std::string& wanted,
                                       std::span<const std::string> names, std::size_t count) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wanted, name);
    if (distance < std::max(wanted.size(), name.size()) * 2 / 3)
      ranked.emplace_back(distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (const auto& [distance, name] : ranked) {
    if (nearest.size() == count) break;
    nearest.push_back(name);
  }
  return nearest;
}

std::string nearest_hint(const std::string& wanted, std::span<const std::string> names) {
  const auto nearest = nearest_names(wanted, names);
  if (nearest.empty()) return "";
  return fmt::format("nearest existing: '{}'", fmt::join(nearest, "', '"));
}

}  // namespace towerflow
