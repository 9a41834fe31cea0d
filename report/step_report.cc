#include "report/step_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "data/file.h"

namespace towerflow::report {
namespace {

double begin_time(const RunMetadata& step, const NodeStats& stats) {
  return step.simulated ? stats.virtual_begin : stats.begin;
}
double end_time(const RunMetadata& step, const NodeStats& stats) {
  return step.simulated ? stats.virtual_end : stats.end;
}

std::string megabytes(double bytes) {
  return bytes < 1e5 ? fmt::format("{:.1f} kB", bytes / 1e3)
                     : fmt::format("{:.2f} MB", bytes / 1e6);
}

struct Engine {
  std::string name;
  double busy = 0, waits = 0;
  std::string timeline;
};

std::vector<Engine> engines(const RunMetadata& step, double seconds, std::size_t width) {
  std::vector<Engine> all;
  std::map<std::string, std::size_t> index;
  for (const NodeStats& stats : step.nodes) {
    if (!stats.loop.empty()) continue;  // drawn as its loop
    const std::string name =
        short_device_name(stats.device) +
        (stats.lane == Lane::compute ? std::string() : fmt::format(" {}", lane_name(stats.lane)));
    const auto [it, added] = index.emplace(name, all.size());
    if (added) all.push_back({name, 0, 0, std::string(width, ' ')});
    Engine& engine = all[it->second];
    const double begin = begin_time(step, stats), end = end_time(step, stats);
    const bool wait = stats.kind == NodeStats::Kind::wait;
    (wait ? engine.waits : engine.busy) += end - begin;
    const char mark = wait ? '.'
                      : stats.kind == NodeStats::Kind::copy
                          ? (stats.lane == Lane::upload ? '>' : '<')
                      : stats.updates ? 'U'
                                      : '#';
    const auto cell = [&](double time) {
      const auto at = static_cast<std::size_t>(time / seconds * static_cast<double>(width));
      return std::min(at, width - 1);
    };
    if (end <= begin) continue;
    for (std::size_t i = cell(begin); i <= cell(end); ++i) {
      if (engine.timeline[i] == ' ' || engine.timeline[i] == '.') engine.timeline[i] = mark;
    }
  }
  return all;
}

std::string lines_starting_with(const std::string& report,
                                const std::vector<std::string>& beginnings) {
  std::string text;
  for (std::size_t at = 0; at < report.size();) {
    const std::size_t end = std::min(report.find('\n', at), report.size());
    const std::string line = report.substr(at, end - at);
    for (const std::string& beginning : beginnings) {
      if (line.starts_with(beginning)) text += "  " + line + "\n";
    }
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string short_device_name(const std::string& name) {
  const std::size_t at = name.find("/device:");
  return at == std::string::npos ? name : name.substr(at);
}

std::string step_timeline(const RunMetadata& step, std::size_t width) {
  const double seconds = step.simulated ? step.virtual_seconds : step.seconds;
  std::string text = fmt::format(
      "  {:.2f} ms from left to right{}; # kernels, U updates, > < copies in and out, . waits\n",
      seconds * 1e3, step.simulated ? " (simulated: virtual time)" : "");
  for (const Engine& engine : engines(step, seconds, width)) {
    text += fmt::format("  {:<23}|{}| {:3.0f} % busy, waits {:3.0f} %\n", engine.name,
                        engine.timeline, 100 * engine.busy / seconds, 100 * engine.waits / seconds);
  }
  return text;
}

std::string holdings_text(Session& session, std::span<const Fetch> fetches, const Feeds& feeds) {
  std::map<std::string, int> nodes;
  for (const Placement& placement : session.placements(fetches, feeds)) ++nodes[placement.given];
  std::map<std::string, std::pair<int, double>> replicas;
  for (const Transfer& transfer : session.transfers(fetches, feeds)) {
    if (!transfer.replica) continue;
    auto& [count, bytes] = replicas[transfer.to];
    ++count;
    bytes += static_cast<double>(transfer.bytes);
  }
  const std::vector<DeviceHolding> devices = session.device_holdings(fetches, feeds);
  const bool one_home = std::count_if(devices.begin(), devices.end(),
                                      [](const auto& device) { return device.variables > 0; }) == 1;
  std::string text;
  for (const DeviceHolding& device : devices) {
    text += fmt::format("  {}: {}\n    {} nodes of the step, {} of memory for its values",
                        short_device_name(device.name), device.description, nodes[device.name],
                        megabytes(static_cast<double>(device.step_bytes)));
    if (device.variables > 0) {
      text += fmt::format("; {}{} variables and slots, {}", one_home ? "all " : "",
                          device.variables, megabytes(static_cast<double>(device.variable_bytes)));
    }
    if (const auto it = replicas.find(device.name); it != replicas.end()) {
      text += fmt::format("; replicas of {} variables, {}", it->second.first,
                          megabytes(it->second.second));
    }
    text += "\n";
  }
  return text;
}

std::string transfers_text(Session& session, std::span<const Fetch> fetches, const Feeds& feeds,
                           std::size_t shown) {
  std::vector<Transfer> all = session.transfers(fetches, feeds);
  if (all.empty()) return "  nothing: all devices of this step share the host's memory\n";
  std::stable_sort(all.begin(), all.end(),
                   [](const Transfer& a, const Transfer& b) { return a.bytes > b.bytes; });
  std::string text;
  std::map<std::pair<std::string, std::string>, std::pair<int, double>> routes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Transfer& transfer = all[i];
    if (!transfer.mirrored) {
      auto& [count, bytes] =
          routes[{short_device_name(transfer.from), short_device_name(transfer.to)}];
      ++count;
      bytes += static_cast<double>(transfer.bytes);
    }
    if (i >= shown) continue;
    const char* when = transfer.mirrored  ? " (a mirrored variable: once)"
                       : transfer.replica ? " (a variable: again when it has changed)"
                                          : "";
    text += fmt::format(
        "  {:>10}  {} -> {}  {}{}\n", megabytes(static_cast<double>(transfer.bytes)),
        short_device_name(transfer.from), short_device_name(transfer.to), transfer.value, when);
  }
  if (all.size() > shown) text += fmt::format("  and {} smaller ones\n", all.size() - shown);
  for (const auto& [route, sum] : routes) {
    text += fmt::format("  in all {} -> {}: {} values, {}\n", route.first, route.second, sum.first,
                        megabytes(sum.second));
  }
  return text;
}

std::string first_gradient_text(const RunMetadata& step) {
  double leaves = -1;
  std::string what, device;
  for (const NodeStats& stats : step.nodes) {
    if (stats.lane != Lane::download || stats.kind != NodeStats::Kind::copy) continue;
    if (stats.node.find("gradients") == std::string::npos) continue;
    const double begin = begin_time(step, stats);
    if (leaves < 0 || begin < leaves) {
      leaves = begin;
      what = stats.node;
      device = stats.device;
    }
  }
  if (leaves < 0) return "";
  double before = 0, all = 0;
  for (const NodeStats& stats : step.nodes) {
    if (stats.device != device || stats.lane != Lane::compute ||
        stats.kind != NodeStats::Kind::kernel ||
        stats.node.find("gradients") == std::string::npos) {
      continue;
    }
    const double begin = begin_time(step, stats), end = end_time(step, stats);
    all += end - begin;
    before += std::max(0.0, std::min(end, leaves) - begin);
  }
  return fmt::format("  The first gradient, of {}, left {} after {:.0f} % of its backward pass.\n",
                     what, short_device_name(device), all > 0 ? 100 * before / all : 0);
}

void write_trace(const RunMetadata& step, const std::string& path) {
  AtomicFile file(path);
  file.append(step.chrome_trace());
  file.commit();
}

std::string explanation(Session& session, std::span<const Fetch> fetches, const Feeds& feeds,
                        const RunMetadata& step) {
  const std::string plan = session.plan_report(fetches, feeds);
  return fmt::format("Who holds what\n{}", holdings_text(session, fetches, feeds)) +
         fmt::format("\nWhat crosses in a step\n{}", transfers_text(session, fetches, feeds)) +
         fmt::format("\nWho works and who waits\n{}{}", step_timeline(step),
                     first_gradient_text(step)) +
         fmt::format("\nWhat the planner did\n{}",
                     lines_starting_with(
                         plan, {"prune:", "unread:", "fold:", "share:", "rewrite:", "copy:"}));
}

}  // namespace towerflow::report
