#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/scale/curve.h"

namespace CLI {
class App;
}

namespace towerflow::tools {

/// The options of `towerflow scale` that describe machines and strategies, in the units of the
/// command line.
struct ScaleArguments {
  std::string towers = "1..64", strategy = "all", picture;
  std::int64_t host_towers = 8, bucket_bytes = 4 << 20, seed = 0;
  std::optional<std::int64_t> group_size, servers;
  std::optional<double> bandwidth = 25, latency = 10;           // Gbit/s, us
  std::optional<double> host_bandwidth = 96, host_latency = 5;  // Gbit/s, us
  std::optional<double> tower_memory, host_memory;              // GB/s
  std::optional<double> jitter = 0;                             // percent
  bool in_turn = false, add_in_host = false, read_at_start = false, json = false;

  /// Returns the machines; memory rates that were not given are those of the arguments.
  report::Cluster cluster(double tower_rate, double host_rate) const;
  report::ScaleOptions options(const report::ScaleStrategy& strategy) const;
  /// Returns the strategies to simulate.
  std::vector<report::ScaleStrategy> strategies() const;
  /// Returns the numbers of towers. Throws UsageError.
  std::vector<int> tower_counts() const;
};

/// Adds these options.
void add_scale_options(CLI::App& app, ScaleArguments& arguments);

/// Returns a curve as JSON.
nlohmann::ordered_json json_of(const report::ScaleCurve& curve);

/// Adds `towerflow scale published`.
void add_scale_published(CLI::App& parent);

}  // namespace towerflow::tools
