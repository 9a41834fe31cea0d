#include "report/hidden_copies.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace towerflow::report {
namespace {

using Interval = std::pair<double, double>;

Interval time_of(const RunMetadata& step, const NodeStats& stats) {
  if (step.simulated) return {stats.virtual_begin, stats.virtual_end};
  return {stats.begin, stats.end};
}

}  // namespace

CopyTimes copy_times(const RunMetadata& step) {
  // A device's kernels run one after another, so that their intervals do not overlap.
  std::map<std::string, std::vector<Interval>> kernels;
  for (const NodeStats& stats : step.nodes) {
    const bool counts =
        stats.kind == NodeStats::Kind::kernel && stats.lane == Lane::compute && stats.loop.empty();
    if (counts) kernels[stats.device].push_back(time_of(step, stats));
  }
  CopyTimes times;
  for (const NodeStats& stats : step.nodes) {
    if (stats.kind != NodeStats::Kind::copy || !is_copy_lane(stats.lane)) continue;
    const auto [begin, end] = time_of(step, stats);
    CopyTime& time = stats.lane == Lane::download ? times.out : times.in;
    time.all += end - begin;
    for (const auto& [from, to] : kernels[stats.device]) {
      time.hidden += std::max(0.0, std::min(end, to) - std::max(begin, from));
    }
  }
  return times;
}

}  // namespace towerflow::report
