// The options of `towerflow scale` for machines and strategies.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/device/backend.h"
#include "core/graph/error.h"
#include "tools/command.h"
#include "tools/options.h"
#include "tools/scale.h"

namespace towerflow::tools {

report::Cluster ScaleArguments::cluster(double tower_rate, double host_rate) const {
  constexpr double kGigabit = 1e9 / 8, kMicrosecond = 1e-6;
  return {.towers_per_host = static_cast<int>(host_towers),
          .inside = {*host_bandwidth * kGigabit, *host_latency * kMicrosecond},
          .between = {*bandwidth * kGigabit, *latency * kMicrosecond},
          .tower_memory = tower_memory ? *tower_memory * 1e9 : tower_rate,
          .host_memory = host_memory ? *host_memory * 1e9 : host_rate};
}

report::ScaleOptions ScaleArguments::options(const report::ScaleStrategy& one) const {
  return {.strategy = one,
          .bucket_bytes = static_cast<double>(bucket_bytes),
          .group_size = static_cast<int>(group_size.value_or(0)),
          .in_turn = in_turn,
          .servers = static_cast<int>(servers.value_or(0)),
          .add_in_host = add_in_host,
          .read_at_start = read_at_start,
          .jitter = *jitter / 100,
          .seed = static_cast<unsigned>(seed)};
}

std::vector<report::ScaleStrategy> ScaleArguments::strategies() const {
  if (strategy == "all") return report::scale_strategies();
  return {report::scale_strategy(strategy)};
}

std::vector<int> ScaleArguments::tower_counts() const {
  try {
    return report::parse_tower_counts(towers);
  } catch (const ValueError& error) {
    throw UsageError("--towers: " + error.message());
  }
}

void add_scale_options(CLI::App& app, ScaleArguments& arguments) {
  constexpr double kMost = 1e6;
  add_text(app, "--towers", arguments.towers,
           "how many: 8, or 8,16,24, or 8..1024 for 8, 16, 32, .., 1024", {.type = "N..M"});
  std::vector<std::string> words{"all"};
  for (const report::ScaleStrategy& strategy : report::scale_strategies()) {
    words.push_back(strategy.word);
  }
  add_choice(app, "--strategy", arguments.strategy,
             "independent: no exchange; parameter_server: hosts hold the variables; gather, "
             "shuffle, ring, tree, hierarchical: as --all-reduce of replicated towers; "
             "rotated_ring: as NCCL's; all: each of them",
             words);
  add_integer(app, "--host-towers", arguments.host_towers, "towers on each host",
              {.least = 1, .most = kMaxDevices});
  add_number(app, "--bandwidth", arguments.bandwidth,
             "Gbit/s between a host and the others, in each direction", 1e-3, kMost);
  add_number(app, "--latency", arguments.latency, "microseconds of a message between hosts", 0,
             kMost);
  add_number(app, "--host-bandwidth", arguments.host_bandwidth,
             "Gbit/s between a tower and its host, in each direction", 1e-3, kMost);
  add_number(app, "--host-latency", arguments.host_latency,
             "microseconds of a message inside a host", 0, kMost);
  add_number(
      app, "--tower-memory", arguments.tower_memory,
      "GB/s that a tower reads and writes; when not given, measured and as much faster as its "
      "computation",
      1e-3, kMost);
  add_number(app, "--host-memory", arguments.host_memory,
             "GB/s that a host reads and writes; measured when not given", 1e-3, kMost);
  add_integer(app, "--bucket-bytes", arguments.bucket_bytes,
              "bytes of gradients that travel together");
  add_flag(app, "--in-turn", arguments.in_turn, "buckets travel one after another, as Horovod's");
  add_integer(app, "--group-size", arguments.group_size,
              "towers of a group of hierarchical; those of a host when not given");
  add_integer(app, "--servers", arguments.servers,
              "hosts that hold variables for parameter_server; all when not given");
  add_flag(app, "--add-in-host", arguments.add_in_host,
           "with parameter_server, hosts add the gradients of their towers before they send them");
  add_flag(app, "--read-at-start", arguments.read_at_start,
           "with parameter_server, variables are read during the forward pass");
  add_number(app, "--jitter", arguments.jitter,
             "standard deviation of the computing time of towers, in percent; the mean of 20 "
             "steps counts",
             0, 50);
  add_integer(app, "--seed", arguments.seed, "seed of the jitter", {.least = 0});
  add_text(app, "--svg", arguments.picture, "draw the curves to FILE", {.type = "FILE"});
  add_json(app, arguments.json);
}

nlohmann::ordered_json json_of(const report::ScaleCurve& curve) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < curve.towers.size(); ++i) {
    const report::ScaleResult& result = curve.results[i];
    points.push_back({{"towers", curve.towers[i]},
                      {"examples_per_second", curve.rate(i)},
                      {"seconds", result.step},
                      {"efficiency", result.efficiency()},
                      {"message_seconds", result.messages},
                      {"hidden_seconds", result.hidden()},
                      {"exposed_seconds", result.exposed()},
                      {"bound_by", result.bound()}});
  }
  return {{"strategy", curve.name}, {"points", points}};
}

}  // namespace towerflow::tools
