// A lower bound on the step time, for `towerflow bench mnist --explain`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/step_report.h"

namespace towerflow::report {
namespace {

/// Identifies a product. Products of one op with equal work and bytes are the same: towers repeat
/// them under other names.
using Product = std::tuple<std::string, double, double>;

Product product_of(const NodeStats& stats) { return {stats.op, stats.flops, stats.bytes}; }

bool is_product(const NodeStats& stats) {
  return stats.kind == NodeStats::Kind::kernel && stats.flops > 0 && !stats.updates;
}

}  // namespace

double step_floor(const RunMetadata& step, std::span<const IsolatedSteps> alone, int threads,
                  double bytes_per_second) {
  std::map<Product, double> least;  // seconds on all cores
  const auto update_least = [&](const NodeStats& stats, int on) {
    if (!is_product(stats)) return;
    const double seconds = (stats.end - stats.begin) * on / threads;
    const auto [it, added] = least.emplace(product_of(stats), seconds);
    if (!added) it->second = std::min(it->second, seconds);
  };
  for (const IsolatedSteps& steps : alone) {
    for (const RunMetadata& one : steps.steps) {
      for (const NodeStats& stats : one.nodes) update_least(stats, steps.threads);
    }
  }
  std::set<std::string> loops;
  for (const NodeStats& stats : step.nodes) loops.insert(stats.loop);
  double floor = 0;
  for (const NodeStats& stats : step.nodes) {
    if (stats.kind != NodeStats::Kind::kernel || loops.contains(stats.node)) continue;
    // A product without a measurement in `alone` ran on at least one core.
    if (is_product(stats) && !least.contains(product_of(stats))) update_least(stats, 1);
    floor += is_product(stats) ? least.at(product_of(stats)) : stats.bytes / bytes_per_second;
  }
  return floor;
}

std::string floor_line(std::span<const RunMetadata> steps, double floor, double bytes_per_second) {
  double total = 0;
  for (const RunMetadata& step : steps) total += step.seconds;
  return fmt::format(
      "  {:<30} {:<18} {:5} {:9.1f} {:6.1f} %  the best kernel of each product, all "
      "else at {:.1f} GB/s\n",
      "the floor", "", "", 1e6 * floor, 100 * floor * static_cast<double>(steps.size()) / total,
      bytes_per_second / 1e9);
}

}  // namespace towerflow::report
