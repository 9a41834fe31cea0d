// The table of `towerflow bench mnist --explain`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "report/step_report.h"

namespace towerflow::report {
namespace {

/// One row of the table, with times in seconds over all steps and queues.
struct Row {
  double seconds = 0, best_seconds = 0, flops = 0, bytes = 0;
  int launches = 0;
};

struct Rows {
  std::map<std::pair<std::string, std::string>, Row> products, passes;  // per op and kernel
  Row updates, copies, waits;
  double between = 0;  ///< gaps between instructions of a queue
  double edges = 0;    ///< before the first and after the last instruction of a queue
  double total = 0;    ///< seconds, over all steps and queues
  double parts = 0;    ///< number of steps times queues
};

/// Identifies an instruction in every step.
using Key = std::pair<std::string, std::string>;  // device with engine; op and node

std::string queue_of(const NodeStats& stats) { return stats.device + "/" + lane_name(stats.lane); }

std::map<Key, double> best_times(std::span<const RunMetadata> steps) {
  std::map<Key, double> best;
  for (const RunMetadata& step : steps) {
    for (const NodeStats& stats : step.nodes) {
      if (stats.kind != NodeStats::Kind::kernel) continue;
      const auto [it, added] =
          best.emplace(Key(queue_of(stats), stats.op + stats.node), stats.end - stats.begin);
      if (!added) it->second = std::min(it->second, stats.end - stats.begin);
    }
  }
  return best;
}

void add(Row& row, const NodeStats& stats, double best) {
  row.seconds += stats.end - stats.begin;
  row.best_seconds += best;
  row.flops += stats.flops;
  row.bytes += stats.bytes;
  ++row.launches;
}

/// Returns the time of what each loop ran, by the loop's node.
std::map<std::string, double> seconds_in_loops(const RunMetadata& step) {
  std::map<std::string, double> seconds;
  for (const NodeStats& stats : step.nodes) {
    if (!stats.loop.empty() && !is_copy_lane(stats.lane))
      seconds[stats.loop] += stats.end - stats.begin;
  }
  return seconds;
}

Row& row_of(Rows& rows, const NodeStats& stats) {
  if (stats.updates) return rows.updates;
  return (stats.flops > 0 ? rows.products : rows.passes)[{stats.op, stats.label}];
}

Rows collect(std::span<const RunMetadata> steps) {
  Rows rows;
  const auto best = best_times(steps);
  for (const RunMetadata& step : steps) {
    std::map<std::string, double> last;  // queue -> end of its last instruction
    const std::map<std::string, double> in_loops = seconds_in_loops(step);
    for (const NodeStats& stats : step.nodes) {
      if (is_copy_lane(stats.lane)) continue;
      const std::string queue = queue_of(stats);
      if (stats.loop.empty()) {
        const auto [at, first] = last.emplace(queue, stats.begin);
        if (first)
          rows.edges += stats.begin;
        else
          rows.between += stats.begin - at->second;
        at->second = stats.end;
      }
      if (stats.kind == NodeStats::Kind::wait) {
        add(rows.waits, stats, 0);
      } else if (stats.kind == NodeStats::Kind::commit) {
        rows.between += stats.end - stats.begin;
      } else if (stats.kind == NodeStats::Kind::copy) {
        add(rows.copies, stats, 0);
      } else if (const auto inner = in_loops.find(stats.node); inner != in_loops.end()) {
        NodeStats own = stats;  // without what its iterations ran
        own.end -= inner->second;
        own.bytes = 0;
        add(row_of(rows, stats), own, 0);
      } else {
        add(row_of(rows, stats), stats, best.at(Key(queue, stats.op + stats.node)));
      }
    }
    for (const auto& [queue, end] : last) {
      rows.edges += step.seconds - end;
      rows.total += step.seconds;
      rows.parts += 1;
    }
  }
  return rows;
}

std::string line(const std::string& what, const std::string& kernel, const Row& row,
                 const Rows& rows) {
  std::string rates;
  if (row.flops > 0) {
    rates = fmt::format("{:7.1f} GFLOP/s {:5.0f} %", row.flops / row.seconds / 1e9,
                        100 * row.best_seconds / row.seconds);
  } else if (row.bytes > 0 && row.best_seconds > 0) {
    rates = fmt::format("{:7.1f} GB/s    {:5.0f} %", row.bytes / row.seconds / 1e9,
                        100 * row.best_seconds / row.seconds);
  }
  return fmt::format("  {:<30} {:<18} {:5.0f} {:9.1f} {:6.1f} %  {}\n", what, kernel,
                     row.launches / rows.parts, 1e6 * row.seconds / rows.parts,
                     100 * row.seconds / rows.total, rates);
}

std::string plain_line(const std::string& what, double seconds, const Rows& rows) {
  return fmt::format("  {:<30} {:<18} {:5} {:9.1f} {:6.1f} %\n", what, "", "",
                     1e6 * seconds / rows.parts, 100 * seconds / rows.total);
}

std::string group(const std::string& title,
                  const std::map<std::pair<std::string, std::string>, Row>& group,
                  const Rows& rows) {
  std::vector<std::pair<std::pair<std::string, std::string>, Row>> sorted(group.begin(),
                                                                          group.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  std::string text = sorted.empty() ? "" : title + "\n";
  for (const auto& [name, row] : sorted) text += line(name.first, name.second, row, rows);
  return text;
}

}  // namespace

std::string step_table(std::span<const RunMetadata> steps) {
  const Rows rows = collect(steps);
  std::string text = fmt::format("{:<32} {:<18} {:>5} {:>9} {:>8}   rate, share of its own best\n",
                                 "", "kernel", "count", "us", "share");
  text += group("products", rows.products, rows);
  text += group("passes over memory", rows.passes, rows);
  if (rows.updates.launches > 0) text += line("updates of variables", "", rows.updates, rows);
  if (rows.copies.launches > 0) text += line("copies", "", rows.copies, rows);
  text += plain_line("waits for other queues", rows.waits.seconds, rows);
  text += plain_line("beginning and end of the run", rows.edges, rows);
  text += plain_line("unattributed", rows.between, rows);
  return text + plain_line("the step", rows.total, rows);
}

double unattributed_share(std::span<const RunMetadata> steps) {
  const Rows rows = collect(steps);
  return rows.between / rows.total;
}

}  // namespace towerflow::report
